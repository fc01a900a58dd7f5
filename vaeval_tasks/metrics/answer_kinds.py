"""What counts as another answer of the same kind, and which words mean the same."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["alike", "rivals_of", "sound_key"]

_KINDS = """
red, blue, green, yellow, orange, purple, pink, brown, black, white, gray=grey, violet, gold, silver, beige, \
turquoise
monday, tuesday, wednesday, thursday, friday, saturday, sunday
january, february, march, april, may, june, july, august, september, october, november, december
spring, summer, autumn=fall, winter
up=upward=upwards=rising=rises=rise, down=downward=downwards=falling=falls=fall
left, right
north, south, east, west
male=man=men, female=woman=women=lady, boy, girl
higher, lower
louder, quieter=softer
faster, slower
fast, slow
true, false
morning, afternoon, evening, night
violin, piano, guitar, drum=drums, flute, trumpet, harp, cello, saxophone, organ, clarinet, banjo, accordion, tuba, \
trombone, oboe, bassoon, xylophone, ukulele, harmonica
jazz, rock, blues, pop, classical, country, metal, reggae, folk, techno, opera, funk, disco
dog, cat, bird, horse, cow, pig, sheep, lion, tiger, elephant, whale, mouse, duck, frog, wolf, bear, goat, rooster, \
owl, rabbit, donkey, monkey, snake, goose, chicken
mercury, venus, earth, mars, jupiter, saturn, uranus, neptune, pluto
mother, father, brother, sister, son, daughter, wife, husband, uncle, aunt, cousin, grandmother, grandfather, \
friend, boss
mercury, hydrogen, oxygen, nitrogen, carbon, helium, iron, gold, silver, copper, lead, zinc, tin, sodium, calcium, \
fluorine, chlorine, neon, aluminium=aluminum, uranium, potassium, carbon dioxide, carbon monoxide, methane
heart, liver, lung, stomach, kidney, brain, spleen, pancreas, bladder, skin
train, plane=airplane=aeroplane, bus, ship, bicycle=bike, helicopter, motorcycle=motorbike, ambulance
circle, square, triangle, rectangle, pentagon, hexagon, octagon, cube, sphere, cylinder, cone
atlantic=atlantic ocean, pacific=pacific ocean, indian ocean, arctic ocean, southern ocean
africa, asia, europe, antarctica, australia, north america, south america
france, germany, italy, spain, portugal, england, scotland, ireland, wales, netherlands=holland, belgium, \
switzerland, austria, poland, sweden, norway, denmark, finland, iceland, greece, turkey, russia, ukraine, hungary, \
romania, bulgaria, croatia, serbia, egypt, morocco, nigeria, kenya, ethiopia, south africa, algeria, israel, iran, \
iraq, saudi arabia, india, pakistan, bangladesh, china, japan, south korea, vietnam, thailand, indonesia, malaysia, \
philippines, australia, new zealand, canada, usa=united states=america=united states of america, mexico, brazil, \
argentina, chile, peru, colombia, venezuela, cuba
paris, london, berlin, rome, madrid, lisbon, vienna, prague, budapest, warsaw, athens, istanbul, ankara, moscow, st \
petersburg, kiev=kyiv, stockholm, oslo, copenhagen, helsinki, dublin, edinburgh, glasgow, manchester, liverpool, \
birmingham, amsterdam, brussels, zurich, geneva, bern, milan, venice, florence, naples, turin, barcelona, seville, \
munich, hamburg, frankfurt, cologne, lyon, marseille, nice, cairo, nairobi, lagos, cape town, johannesburg, \
casablanca, jerusalem, tel aviv, dubai, abu dhabi, tehran, baghdad, delhi=new delhi, mumbai=bombay, \
calcutta=kolkata, beijing=peking, shanghai, hong kong, tokyo, kyoto, osaka, seoul, bangkok, hanoi, jakarta, \
singapore, manila, sydney, melbourne, canberra, perth, brisbane, auckland, wellington, toronto, ottawa, montreal, \
vancouver, new york=new york city, washington=washington dc, boston, chicago, los angeles, san francisco, seattle, \
dallas, houston, miami, philadelphia, atlanta, denver, las vegas, mexico city, rio=rio de janeiro, sao paulo, \
brasilia, buenos aires, santiago, lima, bogota, caracas, havana
english, french, german, spanish, italian, hungarian, portuguese, dutch, russian, polish, turkish, arabic, hebrew, \
hindi, chinese=mandarin, japanese, korean, latin, greek, swedish
leonardo da vinci=da vinci, michelangelo, raphael, titian, rembrandt, vincent van gogh=van gogh, pablo \
picasso=picasso, claude monet=monet, salvador dali=dali, caravaggio, botticelli, johannes vermeer=vermeer
william shakespeare=shakespeare, charles dickens=dickens, christopher marlowe=marlowe, jane austen=austen, mark \
twain=samuel clemens, oscar wilde, goethe=johann wolfgang von goethe, ernest hemingway=hemingway, leo \
tolstoy=tolstoy, fyodor dostoevsky=dostoevsky, victor hugo, george orwell=orwell, miguel de cervantes=cervantes, \
william wordsworth=wordsworth, agatha christie
wolfgang amadeus mozart=mozart, ludwig van beethoven=beethoven, johann sebastian bach=bach, joseph haydn=haydn, \
frederic chopin=chopin, antonio vivaldi=vivaldi, franz schubert=schubert, richard wagner=wagner
albert einstein=einstein, isaac newton=newton, galileo galilei=galileo, marie curie=curie, charles darwin=darwin, \
nikola tesla=tesla, thomas edison=edison, alexander graham bell=graham bell, niels bohr=bohr, stephen hawking
football=soccer, basketball, tennis, baseball, golf, hockey, volleyball, rugby, cricket, swimming, boxing
rain=raining=rainy, snow=snowing=snowy, sunny=sun=sunshine, fog=foggy
happy=joyful=cheerful=joy=happiness, sad=unhappy=sadness, angry=furious=anger=mad, \
afraid=scared=fearful=frightened=fear, surprised=surprise=astonished, disgusted=disgust, neutral, bored
apple, banana, pear, cherry, grape, lemon, peach, strawberry, pineapple, mango
"""
_ENTRIES = [[entry.strip().split("=") for entry in line.split(", ")] for line in _KINDS.strip().splitlines()]


@cache
def rivals_of(name: str) -> dict[str, bool]:
    """Return what is of the same kind as a word or name, and whether it means the same (True) or not."""
    out: dict[str, bool] = {}
    for kind in _ENTRIES:
        mine = next((names for names in kind if name in names), None)
        if mine is not None:
            out |= {other: names is mine for names in kind for other in names if other != name}
    return out


def alike(first: str, second: str) -> bool:
    """Whether two words mean the same by the table."""
    return rivals_of(first).get(second, False)


def sound_key(name: str) -> str:
    """Return a key that is equal for names that sound the same: Catherine and Katherine, Steven and Stephen."""
    key = name.lower()
    for pattern, kept in (
        (r"ph", "f"), (r"v", "f"), (r"ck|c(?=[aoukltrh]|$)|q", "k"), (r"c(?=[eiy])|z", "s"), (r"th", "t"),
        (r"(?<=[aeiou])h|h(?=[lmnr])", ""), (r"(.)\1", r"\1"), (r"y|ie|ee|ea", "i"), (r"(?<=[^aeiou])e$", ""),
        (r"(?<=[nr])e(?=s$)", ""),
    ):  # fmt: skip
        key = re.sub(pattern, kept, key)
    return key
