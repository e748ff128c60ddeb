package aiterm

import (
	"context"
	"runtime"
	"time"
)

// healthOut is the result of health_info.
type healthOut struct {
	Version   string `json:"version"`
	GoVersion string `json:"go_version"`
	UptimeS   int64  `json:"uptime_s"` // seconds since the set was made
	meta
}

// healthInfo returns the versions of ptyctl and Go, and the uptime.
func (s *Set) healthInfo(_ context.Context, c *call) (result, error) {
	if err := c.Args(&struct{}{}); err != nil {
		return nil, err
	}
	return &healthOut{
		Version:   c.Options().Version,
		GoVersion: runtime.Version(),
		UptimeS:   int64(time.Since(s.began).Seconds()),
	}, nil
}
