package main

import (
	"fmt"
	"log/slog"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"ptyctl/config"
)

// newLogger makes the process's logger. It writes to stderr or a file, never to stdout: that is the protocol's.
func newLogger(o config.Logging) (log *slog.Logger, closeLog func(), err error) {
	out := zapcore.Lock(os.Stderr)
	closeLog = func() {}
	if o.File != "" {
		f, err := os.OpenFile(o.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("logging.file: %w; name a file that can be written, or leave it empty for stderr", err)
		}
		out, closeLog = zapcore.Lock(f), func() { _ = f.Close() }
	}
	level, err := zapcore.ParseLevel(string(o.Level))
	if err != nil {
		return nil, nil, fmt.Errorf("logging.level: %w", err)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewConsoleEncoder(enc)
	if o.Format == config.LogJSON {
		encoder = zapcore.NewJSONEncoder(enc)
	}
	return slog.New(zapslog.NewHandler(zapcore.NewCore(encoder, out, level))), closeLog, nil
}
