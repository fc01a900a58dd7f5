"""``python -m vaeval_tasks.cli`` is ``vaeval``."""

import sys

from vaeval_tasks.cli import main

sys.exit(main())
