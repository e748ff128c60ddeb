package aiterm

import (
	"context"
	"runtime"
	"time"
)

type healthOut struct {
	Version   string `json:"version"`
	GoVersion string `json:"go_version"`
	UptimeS   int64  `json:"uptime_s"`
	meta
}

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
