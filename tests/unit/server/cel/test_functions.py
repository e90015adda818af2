"""Kubernetes' functions in rules."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.cel.checker import Checker
from proreus.server.cel.evaluate import Program

CHECKER = Checker.of_rules(None)
NINES = "9" * 5_000  # Python makes no number of so many digits


def value_of(text: str) -> Any:
    outcome = Program(CHECKER.check(text), CHECKER).run((None, None), 1_000_000)
    return f"error: {outcome.error}" if outcome.error else outcome.value


@pytest.mark.parametrize(
    "text",
    [
        # lists
        "[1, 2, 3].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
        "[1, 2].sum() == 3 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0",
        "[duration('1h'), duration('1m')].sum() == duration('61m')",
        "[3, 1, 2].min() == 1 && ['a', 'c'].max() == 'c'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        "sets.contains([1, 2], []) && !sets.intersects([1], [2]) && sets.equivalent([], [])",
        # regular expressions
        "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == ''",
        "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']",
        "'abc'.findAll('x') == []",
        "'key=value'.find('(\\\\w+)=(?P<v>\\\\w+)') == 'key=value'",
        "'a(b)[c('.findAll('[(]|\\\\[|[)]').size() == 4 && 'x(y'.find('\\\\(y') == '(y'",
        "('a' + 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac' + 'aab').find('(a+)+b') == 'aab'",
        # URLs
        "isURL('https://example.com:80/a') && isURL('/path') && !isURL('no') && !isURL('a b')",
        "url('https://user@example.com:8080/a%20b?x=1&x=2&y=').getHost() == 'example.com:8080'",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://a:80/').getPort() == '80'",
        "url('https://a/b%20c').getEscapedPath() == '/b%20c' && url('/x').getScheme() == ''",
        "url('https://a/?x=1&x=2').getQuery()['x'] == ['1', '2']",
        "url('https://a/b') == url('https://a/b')",
        "url('https://a/ b').getEscapedPath() == '/%20b' && url('HTTP://A/').getScheme() == 'http'",
        "url('https://a/?x=1+2&y&z;=1#f').getQuery() == {'x': ['1 2'], 'y': ['']}",
        "url('https://a:99999/').getPort() == '99999' && url('mailto:a').getHost() == ''",
        # addresses
        "isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0.256') && !isIP('::ffff:1.2.3.4')",
        "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()",
        "ip('0.0.0.0').isUnspecified() && ip('169.254.0.1').isLinkLocalUnicast()",
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('8.8.8.8').isGlobalUnicast()",
        "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
        "string(ip('2001:DB8::1')) == '2001:db8::1' && ip('::1') == ip('0::1')",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.1') && cidr('10.0.0.0/8').prefixLength() == 8",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
        # quantities
        "isQuantity('1Gi') && isQuantity('-1.5e3') && !isQuantity('1 Gi')",
        "quantity('1000m') == quantity('1') && quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('1').add(quantity('500m')).sub(1).compareTo(quantity('0.5')) == 0",
        "quantity('2').asInteger() == 2 && quantity('1500m').asApproximateFloat() == 1.5",
        "!quantity('1500m').isInteger()",
        "sign(quantity('-1')) == -1",
        "sign(quantity('0')) == 0",
        "quantity('100M').isLessThan(quantity('100Mi'))",
        # versions
        "isSemver('1.2.3') && !isSemver('1.2') && isSemver('v1.2', true) && !isSemver('1.02.3')",
        "semver('1.2.3').major() == 1",
        "semver('1.2.3').minor() == 2",
        "semver('1.2.3').patch() == 3",
        "semver('1.2.3-alpha.2').isLessThan(semver('1.2.3-alpha.10'))",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))",
        "semver('2.0.0').isGreaterThan(semver('1.9.9'))",
        "semver('v01.2', true) == semver('1.2.0')",
        "semver('1.0.0').compareTo(semver('1.0.0')) == 0",
        # formats
        "!format.dns1123Label().validate('my-name').hasValue()",
        "format.dns1123Label().validate('My.Name').hasValue()",
        "format.dns1123Label().validate('a.b').value().size() == 1",
        "!format.dns1123LabelPrefix().validate('my-').hasValue()",
        "format.named('uuid').value().validate('x').hasValue() && !format.named('nope').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "!format.date().validate('2024-02-29').hasValue()",
        "format.date().validate('2024-02-30').hasValue()",
        "!format.datetime().validate('2024-02-29T00:00:00Z').hasValue()",
        "!format.byte().validate('aGk=').hasValue() && format.byte().validate('!').hasValue()",
        "!format.qualifiedName().validate('a.com/b').hasValue()",
        "!format.uri().validate('/x').hasValue()",
        "!format.labelValue().validate('').hasValue()",
        "format.dns1035Label().validate('1a').hasValue()",
        "format.dns1123LabelPrefix().validate('-').hasValue()",
        # times
        "timestamp('2020-01-01T00:30:00Z').getHours('1:45') == 2",
        "timestamp('2020-01-01T00:30:00Z').getDate('-01:00') == 31",
        "timestamp('2020-01-01T00:30:00Z').getHours('') == 0",
        "int(duration('1.5s')) == 1500000000 && -dyn(duration('1s')) == duration('-1s')",
        "{'a': 1, 'a': 2} == {'a': 2} && 1.0 / -0.0 < 0.0 && uint(1e19) > 9u",
    ],
)  # fmt: skip
def test_functions_hold(text: str) -> None:
    assert value_of(text) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dyn([]).min()", "min called on empty list"),
        (
            "ip('x')",
            'IP Address "x" parse error during conversion from string: ParseAddr("x"): '
            "unable to parse IP",
        ),
        ("ip('1.2.300.4')", 'ParseAddr("1.2.300.4"): IPv4 field has value >255'),
        ("ip('1..2.3')", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("ip('1:2:3')", 'ParseAddr("1:2:3"): address string too short'),
        ("ip('12345::')", 'each group must have 4 or less digits (at "12345::")'),
        ("ip('1:2:3:4:5:6:7:8:9')", 'trailing garbage after address (at "9")'),
        ("ip('::1::')", 'multiple :: in address (at ":")'),
        ("ip('g::1')", 'each colon-separated field must have at least one digit (at "g::1")'),
        ("ip('::%')", "zone must be a non-empty string"),
        ("cidr('10.0.0.0/08')", 'bad bits after slash: "08"'),
        ("cidr('10.0.0.0/9223372036854775808')", "bad bits after slash"),
        ("cidr('10.0.0.0/9223372036854775807')", "prefix length out of range"),
        (f"cidr('10.0.0.0/{NINES}')", "bad bits after slash"),
        (f"('%.' + '{NINES}f').format([1.0])", "error while converting precision to integer"),
        (f"semver('{NINES}.0.0')", "value out of range"),
        (f"semver('1.0.0-{NINES}')", "value out of range"),
        ("cidr('fe80::1%eth0/64')", "IPv6 zones cannot be present in a prefix"),
        ("cidr('10.0.0.0/8').containsIP('x')", "no such overload"),
        ("ip('1.2.3')", 'ParseAddr("1.2.3"): IPv4 address too short'),
        ("ip('1.02.3.4')", "IPv4 field has octet with leading zero"),
        ("ip('1.2.x.4')", 'unexpected character (at "x.4")'),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("cidr('10.0.0.0')", "netip.ParsePrefix(\"10.0.0.0\"): no '/'"),
        ("cidr('10.0.0.0/')", 'netip.ParsePrefix("10.0.0.0/"): bad bits after slash: ""'),
        ("cidr('10.0.0.0/33')", "prefix length out of range"),
        (
            "timestamp(string(1) + '')",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            "duration(string(1) + 'x')",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("int('9223372036854775808' + '')", "type conversion error from 'string' to 'int'"),
        ("uint('-1' + '')", "type conversion error from 'string' to 'uint'"),
        ("uint(-1.5 + 0.0)", "unsigned integer overflow"),
        ("timestamp(self)", "no such overload: timestamp(null_type)"),
        ("timestamp(253402300799 + 1)", "timestamp overflow"),
        ("(-9223372036854775807 - 1) % -1", "integer overflow"),
        ("[1][dyn(0.5)]", "unsupported index value 0.5 in list"),
        ("{'a': 1}[dyn(true)]", "no such key: true"),
        (
            "'%d'.format([dyn('a')])",
            "error during formatting: decimal clause can only be used on "
            "integers, was given string",
        ),
        (
            "('%' + 'z').format([1])",
            'could not parse formatting clause: unrecognized formatting clause "z"',
        ),
        ("semver('1.x.0')", 'Invalid character(s) found in minor number "x"'),
        ("semver('1.0.01')", 'Patch number must not contain leading zeroes "01"'),
        ("semver('1.2.3-a..b')", "Prerelease is empty"),
        ("semver('1.2.3-a_b')", 'Invalid character(s) found in prerelease "a_b"'),
        ("semver('1.2-a', true)", "short version cannot contain PreRelease/Build meta data"),
        ("url('no')", 'parse "no": invalid URI for request'),
        ("url('')", 'parse "": empty url'),
        ("url('https://a:b/')", 'invalid port ":b" after host'),
        ("url('https://a/%zz')", 'invalid URL escape "%zz"'),
        ("url('https://%41/')", 'invalid URL escape "%41"'),
        ("quantity('x')", "quantities must match the regular expression"),
        ("quantity('1500m').asInteger()", "cannot convert value to integer"),
        ("semver('1')", "No Major.Minor.Patch elements found"),
        ("'a'.matches('[' + '')", "error parsing regexp"),
        ("'a'.find('[' + '')", "Illegal regex: error parsing regexp"),
        ("dyn(1).all(x, true)", "got 'types.Int', expected iterable type"),
        ("dyn('a').map(x, x)", "got 'types.String', expected iterable type"),
        ("self.exists(x, true)", "got 'types.Null', expected iterable type"),
        ("dyn(ip('::1')).filter(x, true)", "got 'cel.IP', expected iterable type"),
        ("dyn(1).all(i, v, true)", "unsupported comprehension range type: types.Int"),
        ("dyn(1).isSorted()", "no such overload: isSorted(int)"),
        ("[dyn(1), dyn('a')].max()", "no such overload"),
    ],
)
def test_functions_fail_with_a_reason(text: str, message: str) -> None:
    assert message in value_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dyn(1) + 'a'", "no such overload"),
        ("dyn(true) + 1", "no such overload: _+_"),
        ("dyn('a') * 2", "no such overload"),  # texts have methods, which are asked
        ("dyn({}) < 1", "no such overload: _<_"),
        ("dyn(1) < 'a'", "no such overload"),
        ("-dyn('a')", "no such overload"),
        ("!dyn(1)", "no such overload"),
        ("1 in dyn(1)", "no such overload"),
        ("size(dyn(1))", "no such overload: size"),
        ("dyn(1).matches('a')", "no such overload: matches"),
        ("dyn(1).startsWith('a')", "no such overload"),
        ("dyn(1).lowerAscii()", "no such overload: lowerAscii(int)"),
        ("string(dyn({'a': self}))", "no such overload: string(map)"),
        ("int(dyn(1 > 0))", "no such overload: int(bool)"),
        ("double(dyn([self]))", "no such overload: double(list)"),
        ("dyn('a').isSorted()", "no such overload: isSorted(string)"),
        ("dyn(['a', 'b']).sum()", "no such overload: sum(list)"),
        ("dyn('a').first()", "no such overload: first(string)"),
        ("dyn('a').slice(0, 1)", "no such overload: slice(string, int, int)"),
        ("sets.contains(dyn(1), ['a'])", "no such overload: sets.contains(int, list)"),
        ("dyn(1).sort()", "no such overload: sort"),
        ("dyn('a').flatten()", "no such overload: string.flatten()"),
        ("quantity(dyn(1))", "no such overload: quantity(int)"),
        ("quantity('1').isLessThan(dyn('2'))",
         "no such overload: isLessThan(kubernetes.Quantity, string)"),
        ("dyn('a').getFullYear()", "no such overload: getFullYear(string)"),
    ],
)  # fmt: skip
def test_a_value_that_no_overload_takes_is_named_as_kubernetes_engine_does(
    text: str, message: str
) -> None:
    assert value_of(text) == f"error: {message}"
