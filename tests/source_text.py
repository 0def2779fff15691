"""Reads C++ source as text, without a compiler: shared by layering_test.py and size_test.py."""

import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>\bR"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)")
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\d(?:'?[\w.])*)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE)

# Any line except an #include, or an #include that privileged code may have.
PRIVILEGED_LINE = re.compile(
    r'(?!\s*#\s*include).*|#include (?:"(?:exec/launch/\w+|base/types/result)\.h"'
    r"|<(?:(?!pthread|threads)(?:(?:openssl|sys)/)?\w+\.h|algorithm|array|charconv|limits|optional"
    r"|c(?:errno|signal|stdio|std(?:def|int|lib)|string|time)|span|string|string_view|type_traits"
    r"|utility|variant|vector)>)")
PRIVILEGED_BAN = re.compile(r"\b(?:try|catch|throw|std::j?thread|pthread_\w+)\b")


def blank(text):
    """Returns as many empty lines as the text has."""
    return "\n" * text.count("\n")


def without_comments(source, without_text):
    """Returns the same lines without comments and, if asked, without quoted text."""

    def keep(match):
        if match["comment"] is not None:
            return blank(match.group()) or " "
        if without_text and match["raw"] is not None:
            return '""' + blank(match.group())
        if without_text and match["text"] is not None:
            return match.group()[0] * 2
        return match.group()

    return TOKEN.sub(keep, source)


def privileged_findings(source):
    """Yields (line, problem) of code that runs as root: other includes than libc, libcrypto and
    base/types/result.h, exceptions and threads."""
    for number, line in enumerate(without_comments(source, False).splitlines(), 1):
        if not PRIVILEGED_LINE.fullmatch(line):
            yield number, f"privileged code has '{line}'"
    for number, line in enumerate(without_comments(source, True).splitlines(), 1):
        if match := PRIVILEGED_BAN.search(line):
            yield number, f"'{match.group()}' in privileged code"


def mutable_globals(code):
    """(line, name) of each variable with static lifetime that is not constant. A heuristic: reads
    statements and braces of code without comments, quoted text and preprocessor lines."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: blank(m.group()), code,
                  flags=re.MULTILINE)
    found = []
    scopes = []  # True for a namespace, False for any other pair of braces.
    statement, line, statement_line = "", 1, 1
    for char in code:
        if char in ";{}":
            name = variable_of(statement, at_namespace_scope=all(scopes))
            if name and char != "}":
                found.append((statement_line, name))
            if char == "{":
                opens_namespace = re.search(r"\bnamespace\b|^\s*extern\s*\"", statement)
                scopes.append(bool(opens_namespace))
            elif char == "}" and scopes:
                scopes.pop()
            statement = ""
        else:
            if not statement.strip():
                statement_line = line
            statement += char
        if char == "\n":
            line += 1
    return found


NOT_VARIABLES = re.compile(
    r"\b(?:using|typedef|template|class|struct|union|enum|namespace|friend|static_assert|operator"
    r"|concept|requires|return|constexpr|consteval|const)\b")
VARIABLE = re.compile(r"(?P<type>[\w:<>,*&\s]*[\w>*&\s])(?<=[\s>*&])(?P<name>[A-Za-z_][\w:]*)"
                      r"\s*(?:\[[^\]]*\]\s*)*$")


def variable_of(statement, at_namespace_scope):
    """The name of the mutable variable of static lifetime that the statement declares, or None."""
    statement = re.sub(r"\b(?:public|private|protected)\s*:", " ", statement)
    statement = re.sub(r"\[\[[^\]]*\]\]", " ", statement)
    head = statement.split("=", 1)[0].strip()
    if NOT_VARIABLES.search(head) or "(" in head:
        return None
    lasting = re.match(r"(?:inline\s+)?(?:static|thread_local|constinit|extern)\b", head)
    if not at_namespace_scope and not lasting:
        return None
    match = VARIABLE.fullmatch(head)
    return match["name"] if match and match["type"].strip() else None
