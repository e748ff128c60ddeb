package aiterm

import (
	"context"
	"runtime"
	"time"
)

// healthOut is the result of health_info.
type healthOut struct {
	Version   string `json:"version" is:"listed"`
	GoVersion string `json:"go_version" is:"listed"`
	UptimeS   int64  `json:"uptime_s" is:"listed"`
	meta
}

// healthInfo returns the versions of ptyctl and Go, and the uptime.
func (s *Set) healthInfo(_ context.Context, c *call, _ *struct{}) (*healthOut, error) {
	return &healthOut{
		Version:   c.Version(),
		GoVersion: runtime.Version(),
		UptimeS:   int64(time.Since(s.began).Seconds()),
	}, nil
}
