"""Speed against the physical limit: `make bench`. The yardstick lies beside the repository, in ../shared/bench."""
