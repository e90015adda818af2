"""The commands that simulated containers understand do what a shell would."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.simulated.shell_files import ContainerPlace, UnixUser
from proreus.cluster.kubelet.runtimes.simulated.shell_result import Line, ScriptResult
from proreus.cluster.kubelet.runtimes.simulated.shell_script import (
    VariablesWanted,
    interpret,
)

VARIABLES = {"INDEX": "3", "EMPTY": "", "BLANKS": "a b", "STAR": "*"}


def sh(script: str) -> ScriptResult | None:
    return interpret(["sh", "-c", script], VARIABLES)


@pytest.mark.parametrize(
    ("arguments", "runs_s", "code"),
    [
        (["sleep", "5"], 5, 0),
        (["/bin/sleep", "1.5", "2m"], 121.5, 0),
        (["sleep", "infinity"], None, 0),
        (["sh", "-c", "sleep inf; exit 3"], None, 0),
        (["true"], 0, 0),
        (["sh", "-c", ""], 0, 0),
        (["false"], 0, 1),
        (["exit", "42"], 0, 42),
        (["/bin/sh", "-c", "exit 256"], 0, 0),
        (["bash", "-c", "sleep 2 && exit 7"], 2, 7),
        (["sh", "-c", "false || sleep 1; false"], 1, 1),
        (["sh", "-c", "true || exit 5; exit 6"], 0, 6),
        (["sh", "-c", "false && exit 5"], 0, 1),
        (["sh", "-c", "exec sleep 4; exit 9"], 4, 0),
        (["sh", "-c", "false; exit"], 0, 1),
        (["sh", "-c", "false; exit $?"], 0, 1),
        (["sh", "-c", 'exit "${INDEX}"'], 0, 3),
        (["sh", "-c", "[ $INDEX -lt 2 ] || exit 9"], 0, 9),
        (["sh", "-c", 'test "$INDEX" = 3 && exit 4'], 0, 4),
        (["sh", "-c", '[ ! -n "$EMPTY" ] && exit 4'], 0, 4),
        (["sh", "-c", "# nothing\n\nsleep 1 # so long\n exit 2"], 1, 2),
        (["sh", "-c", "sleep 1 &&\n exit 2"], 1, 2),
        (["sh", "-c", "if true; then exit 1; fi"], 0, 1),
        (
            ["sh", "-c", "if [ $(expr $INDEX % 2) -ne 0 ]; then\n\texit 1\nelse\n\texit 0\nfi\n"],
            0,
            1,
        ),
        (
            ["sh", "-c", "if [[ $INDEX -eq 0 ]]\nthen exit 1\nelif false; then :\nelse exit 7; fi"],
            0,
            7,
        ),
        (["sh", "-c", "exit $(( (${INDEX} + UNSET) * 2 - $INDEX / 2 % 2 ))"], 0, 5),
        (["sh", "-c", "if false; then exit 1; fi; echo $?"], 0, 0),
        (["sh", "-c", "if true && false; then exit 1; fi || exit 2; sleep 3"], 3, 0),
        (["sh", "-c", 'if true; then if false; then exit 1; fi; exit "$(echo 4)"; fi'], 0, 4),
        (["sh", "-c", "N=2; sleep $N; exit $((N + 1))"], 2, 3),
        (["sh", "-c", "/bin/echo x; /usr/bin/false"], 0, 1),
        (["sh", "-c", "test $(id -u) -eq 0"], 0, 0),
        (["sh", "-c", "test $INDEX != 3"], 0, 1),
        (["sh", "-c", '[ "$EMPTY" != "" ] || exit 5'], 0, 5),
        (["sh", "-c", "! true"], 0, 1),
        (["sh", "-c", "if ! [ $INDEX != 4 ]; then exit 1; fi; ! exit 6"], 0, 6),
        (["tail", "-f", "/dev/null"], None, 0),
        (["sh", "-c", "sleep 1; /usr/bin/tail -F /dev/null; exit 1"], None, 0),
        (["expr", "7", "/", "2"], 0, 0),
        (["expr", "1", "-", "1"], 0, 1),
    ],
)
def test_commands_run_for_a_time_and_exit(
    arguments: list[str], runs_s: float | None, code: int
) -> None:
    found = interpret(arguments, VARIABLES)

    assert found is not None
    assert (found.runs_s, found.exit_code) == (runs_s, code)


def test_what_is_printed_has_its_time_and_its_stream() -> None:
    found = sh("echo one 'two  three'; sleep 2; echo -n \"$INDEX \\$\"; echo oops >&2; echo")

    assert found is not None
    assert found.lines == (
        Line(0, "one two  three\n"),
        Line(2, "3 $"),
        Line(2, "oops\n", is_error=True),
        Line(2, "\n"),
    )


def printed(script: str, user: UnixUser | None = None) -> str:
    place = ContainerPlace(user or UnixUser())
    found = interpret(["sh", "-c", script], VARIABLES, place)
    assert found is not None
    return "".join(line.text for line in found.lines)


def test_a_container_s_variables_are_printed() -> None:
    everything = "".join(f"{name}={value}\n" for name, value in sorted(VARIABLES.items()))

    assert printed("env") == everything
    assert printed("printenv INDEX STAR") == "3\n*\n"
    assert sh("printenv INDEX OTHER") == ScriptResult(0, 1, (Line(0, "3\n"),))


def test_an_assignment_before_a_command_is_seen_by_that_command_alone() -> None:
    assert printed('INDEX=4 echo "$INDEX"') == "3\n"
    assert printed("INDEX=4 OWN=$EMPTY. printenv INDEX OWN; echo $INDEX") == "4\n.\n3\n"
    assert printed("OWN=4; INDEX=5; printenv OWN; printenv INDEX; echo $OWN") == "5\n4\n"


def test_a_container_runs_as_the_user_that_its_pod_says() -> None:
    user = UnixUser(1001, 2002, (2002, 3003))

    assert printed("id", user) == "uid=1001 gid=2002 groups=2002,3003\n"
    assert printed("id -u; id -g; id -G", user) == "1001\n2002\n2002 3003\n"
    assert printed("id") == "uid=0(root) gid=0(root) groups=0(root)\n"


@pytest.mark.parametrize("script", ["echo $OTHER", "env", "printenv", "exit $((OTHER + 1))"])
def test_what_depends_on_variables_that_are_not_known_yet_waits_for_them(script: str) -> None:
    with pytest.raises(VariablesWanted):
        interpret(["sh", "-c", script], VARIABLES, are_all_known=False)


def test_what_depends_on_known_variables_alone_waits_for_none() -> None:
    found = interpret(["sh", "-c", "OWN=1; exit $INDEX$OWN"], VARIABLES, are_all_known=False)

    assert found == ScriptResult(0, 31)


@pytest.mark.parametrize(
    "script",
    [
        ";", "a ;; b", "true &&", "&& true", "true &", "sleep 1 | cat", "echo a > etc/file",
        "cat file", "echo a 2> /tmp/f",
        "echo $(date)", "echo `date`", "echo $((1+))", "while true; do sleep 1; done",
        "if true; then exit 1", "if true; exit 1; fi", "if; then exit 1; fi", "then", "fi",
        "else true", "if true; then; fi", "if true && then true; fi", "fi && true",
        "if true; then true; fi >&2", "if true; then true; fi true", "if true; then && true; fi",
        "echo $(sleep 1)", "echo $(true; true)", "echo $(($(expr 1)))", "expr a + b",
        "echo $((010))", "echo $((1 < 2 < 3))", "echo $((BLANKS))", "echo $((1/0))",
        "echo *", "echo {a,b}", "(true)", "X=$(echo 1)", "X=1 :", "X=1 >&2",
        "nginx", "env sh", "id root",
        "sleep", "sleep one", "exit one", "exit 1 2", "echo -e a", "echo 'a", 'echo "a',
        "echo $BLANKS", "echo $STAR", "test a b c d", "[ 1 -eq a ]", "trap x TERM; sleep 1",
        "echo ~", "cat <<EOF", "sh -c true", "echo ${A:-b}", "exec exit 1",
    ],
)  # fmt: skip
def test_what_is_not_simulated_is_not_understood_at_all(script: str) -> None:
    assert sh(script) is None


@pytest.mark.parametrize("arguments", [[], ["nginx", "-g"], ["sh"], ["sh", "-c"], ["sh", "x.sh"]])
def test_programs_are_not_understood(arguments: list[str]) -> None:
    assert interpret(arguments, {}) is None


# No backslashes: some shells' echo reads them, others' does not.
words = st.text("ab $'\"*;&|#3", max_size=6).map(shlex.quote)
commands = st.one_of(
    st.sampled_from(["true", "false", ":", "exit 3", "exit", "test -n ''", "[ $INDEX -gt 2 ]"]),
    st.lists(words, max_size=3).map(lambda said: "echo " + " ".join(["x", *said])),
    st.sampled_from(['echo "$INDEX" $EMPTY end', "echo $?", "echo a#b", 'echo "" x >&2']),
    st.sampled_from(
        ["echo $((INDEX * 7 % 4))", "expr 2 - 2", 'echo "$(expr $INDEX + 1)" $(echo x)']
    ),
    st.sampled_from(
        ["if false; then exit 4; fi", "if [ $? -eq 0 ]; then echo yes; else false; fi"]
    ),
    st.sampled_from(["X=2", 'X=$INDEX"a b"', 'INDEX=7 echo "$INDEX"', 'echo "$X"', "INDEX=8"]),
    st.sampled_from(["X=1 Y=$X printenv Y", "printenv INDEX X", "/bin/echo /bin/true"]),
    st.sampled_from(["if false; then :\nelif echo between; then exit; fi"]),
)
scripts = st.lists(
    st.tuples(commands, st.sampled_from([" && ", " || ", "; ", "\n", ";"])), min_size=1, max_size=6
).map(lambda parts: "".join(command + joint for command, joint in parts) + "true")


@settings(max_examples=60, deadline=None)
@given(scripts)
def test_a_script_does_what_a_real_shell_does(script: str) -> None:
    real = subprocess.run(
        ["sh", "-c", script], env={**VARIABLES, "PATH": "/usr/bin:/bin"}, capture_output=True
    )

    found = sh(script)

    assert found is not None
    assert found.exit_code == real.returncode
    for is_error, said in ((False, real.stdout), (True, real.stderr)):
        printed = "".join(line.text for line in found.lines if line.is_error == is_error)
        assert printed == said.decode()


@given(st.text(st.sampled_from("ae xit01;&|$\"'\\\n[]#>()"), max_size=30))
def test_any_text_is_read_or_refused(script: str) -> None:
    found = sh(script)

    assert found is None or 0 <= found.exit_code < 256


@pytest.mark.parametrize(
    "script",
    [
        "a=aaaaaaaa; " + "a=$a$a; " * 60,
        "a=" + "x" * 60_000 + "; " + 'echo "$a"; ' * 1_000,
        'echo "' + "$A" * 1_000 + '"',
    ],
    ids=["doubled", "printed", "one word"],
)
def test_a_script_that_would_fill_the_memory_is_not_carried_out(script: str) -> None:
    assert interpret(["sh", "-c", script], {"A": "x" * 60_000}) is None
