package sshconfig

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseSeconds parses a sequence of numbers, each with one of the units s, m, h, d, w
// (sshd_config(5), TIME FORMATS), for example "1h30m". A number without unit is in seconds;
// only seconds may have a fraction, which is dropped.
func parseSeconds(s string) (int, error) {
	bad := fmt.Errorf("%q is not a time such as 90, 90s or 1h30m", s)
	units := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400}
	total, plain := 0.0, false
	for rest := s; ; {
		end := 0
		for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || rest[end] == '.') {
			end++
		}
		number, fraction, fractional := strings.Cut(rest[:end], ".")
		value, err := strconv.ParseFloat(rest[:end], 64)
		if err != nil || number == "" && fraction == "" || fractional && fraction == "" {
			return 0, bad
		}
		unit := byte('s')
		if rest = rest[end:]; rest != "" {
			unit = rest[0] | 0x20 // lower case
			rest = rest[1:]
		}
		factor, ok := units[unit]
		if !ok || factor > 1 && fractional || factor == 1 && plain {
			return 0, bad
		}
		plain = plain || factor == 1
		total += value * factor
		if total > math.MaxInt32 {
			return 0, fmt.Errorf("the time %q is too long", s)
		}
		if rest == "" {
			return int(total), nil
		}
	}
}

// parseBytes parses a size with an optional unit K, M or G (powers of 1024).
func parseBytes(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a size such as 512M or 1G", s)
	shift := 0
	digits := s
	if s != "" {
		if i := strings.IndexByte("bkmgtpe", s[len(s)-1]|0x20); i >= 0 {
			shift, digits = 10*i, s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, bad
	}
	return n << shift, nil
}
