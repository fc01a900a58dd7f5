"""The board: one self-contained HTML file, made from the tables of a run or from ready-made figures."""
