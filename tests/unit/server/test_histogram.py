"""Observations counted in buckets."""

from __future__ import annotations

from proreus.server.histogram import BucketCounts


def test_a_bucket_counts_what_is_not_above_its_bound() -> None:
    counts = BucketCounts((0.0, 0.005, 1.0))

    for value in (0.0, 0.005, 0.5, 7.0):
        counts.add(value)

    assert counts.buckets() == [("0", 1.0), ("0.005", 2.0), ("1", 3.0), ("+Inf", 4.0)]
    assert (len(counts), counts.total) == (4, 7.505)


def test_counts_of_the_same_buckets_add_up() -> None:
    one, other = BucketCounts((1.0, 2.0)), BucketCounts((1.0, 2.0))
    one.add(0.5, times=3)
    other.add(1.5)

    one.add_all(other)

    assert one.buckets() == [("1", 3.0), ("2", 4.0), ("+Inf", 4.0)]
    assert one.total == 3.0


def test_a_caller_may_count_what_is_in_the_lowest_bucket_itself() -> None:
    counts, added = BucketCounts((0.1, 1.0)), BucketCounts((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        added.add(value)
        if value <= counts.first:
            counts.lowest += 1
            counts.total += value
        else:
            counts.add(value)

    assert counts.buckets() == added.buckets() == [("0.1", 2), ("1", 3), ("+Inf", 4)]
    assert (len(counts), counts.total) == (len(added), added.total)


def test_fewer_buckets_may_be_read_than_were_counted_in() -> None:
    counts = BucketCounts((1.0, 2.0, 3.0))
    for value in (0.5, 1.5, 2.5, 9.0):
        counts.add(value)

    assert counts.buckets((2.0,)) == [("2", 2), ("+Inf", 4)]
