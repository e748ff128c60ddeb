package fence

import (
	"log/slog"
	"time"
)

// Options configure a Fence. The zero value works.
type Options struct {
	Logger *slog.Logger // nil: slog.Default

	// Patience is how long the fence process may take to start and to answer before it is replaced; 0: 5 s. Until then a
	// Hold waits, and connections may lack their fence.
	Patience time.Duration
}

// withDefaults returns o with every zero field replaced by its default.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	return o
}
