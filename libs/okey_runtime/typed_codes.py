"""Codes as people type them: read aloud, pasted out of a message, on any keyboard."""

import unicodedata
from typing import Final

# What people read or type for a digit; no code has these letters.
_AS_MEANT: Final = str.maketrans({"O": "0", "I": "1", "L": "1"})


def folded(code: str) -> str:
    """Letters and digits of a code, in upper case; O is read as 0, I and L as 1.

    Wide forms and accents are dropped, so a Turkish İ or ı is an I. Spaces, dashes and ends of
    lines of every kind go, and so does all else that is neither letter nor digit.
    """
    plain = unicodedata.normalize("NFKD", code).upper()
    return "".join(each for each in plain if each.isalnum()).translate(_AS_MEANT)
