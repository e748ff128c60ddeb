package config

import (
	"cmp"
	"fmt"
)

// compare checks the keys that must fit each other. It says nothing about a key
// that was refused or may be missing.
func (l *loader) compare(c *Config) {
	const policy, floor = "ssh.host_key_policy", "ssh.host_key_floor"
	if c.SSH.HostKeyPolicy.WeakerThan(c.SSH.HostKeyFloor) {
		l.clash(policy, floor, fmt.Sprintf("%s %q is weaker than %s %q; choose a stronger policy, or lower the floor",
			policy, c.SSH.HostKeyPolicy, floor, c.SSH.HostKeyFloor))
	}
	atMost(l, "session.connect_timeout_ms", c.Session.ConnectTimeout.Milliseconds(),
		"limits.max_connect_timeout_ms", c.Limits.MaxConnectTimeout.Milliseconds())
	atMost(l, "session.read_timeout_ms", c.Session.ReadTimeout.Milliseconds(),
		"limits.max_wait_ms", c.Limits.MaxWait.Milliseconds())
	atMost(l, "locks.default_ttl_ms", c.Locks.DefaultTTL.Milliseconds(),
		"locks.max_ttl_ms", c.Locks.MaxTTL.Milliseconds())
}

func atMost(l *loader, key string, value int64, bound string, max int64) {
	if value > max {
		l.clash(key, bound, fmt.Sprintf("%s %d is more than %s %d; lower the first or raise the second", key, value, bound, max))
	}
}

// clash reports two keys that do not fit, at the place of the first that was
// set: at least one was, since the defaults fit.
func (l *loader) clash(key, other, message string) {
	if l.gaps || l.doubt[key] || l.doubt[other] {
		return
	}
	l.refuse(key, cmp.Or(l.where[key], l.where[other]), message)
}
