"""Rate limit: so many per second, with bursts. Pure reservation plus one thin wait."""

from __future__ import annotations

from proreus.aio.clock import Clock


class TokenBucket:
    """Holds at most ``burst`` tokens and gains ``rate`` per second; starts full."""

    def __init__(self, clock: Clock, *, rate: float, burst: int) -> None:
        assert rate > 0 and burst > 0, "a bucket without tokens would wait for ever"
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._counted_at = clock.monotonic()

    def reserve(self) -> float:
        """Take a token now, on credit if need be; returns the seconds until it is earned."""
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    async def wait_token(self) -> float:
        """Take a token, waiting until it is earned; returns how long that was."""
        delay_s = self.reserve()
        if delay_s:
            try:
                await self._clock.sleep(delay_s)
            except BaseException:
                self._tokens += 1  # not used: the next that waits gets it
                raise
        return delay_s

    def _refill(self) -> None:
        now = self._clock.monotonic()
        earned = (now - self._counted_at) * self._rate
        self._tokens = min(float(self._burst), self._tokens + earned)
        self._counted_at = now

    def __repr__(self) -> str:
        return f"<TokenBucket {self._rate:g}/s, {self._tokens:.1f} of {self._burst} tokens>"
