package logging

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"ptyctl/config"
)

// A Logger is the log of the process. It writes to stderr or a file, never to stdout, which carries the MCP messages.
// Apply changes its level and its file at any time; each line goes whole to the old file or to the new one.
type Logger struct {
	*slog.Logger
	sink *logSink
}

// New makes the logger that o describes.
func New(o config.Logging) (*Logger, error) {
	sink := new(logSink)
	if err := sink.apply(o); err != nil {
		return nil, err
	}
	// No stacks: a stack shows where an error was logged, seldom its cause, and a panic has its own.
	handler := zapslog.NewHandler(liveCore{sink: sink}, zapslog.AddStacktraceAt(slog.LevelError+1))
	return &Logger{slog.New(handler), sink}, nil
}

// Apply changes the log to the options o. A file is opened again, also if its name is the same. After an error nothing
// has changed.
func (l *Logger) Apply(o config.Logging) error { return l.sink.apply(o) }

// Close closes the file, if there is one. Later lines are lost.
func (l *Logger) Close() {
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	l.sink.core = zapcore.NewNopCore()
	l.sink.closeLocked()
}

// A logSink holds the place that lines currently go to.
type logSink struct {
	mu   sync.RWMutex // guards the following; read-locked while a line is written
	core zapcore.Core
	file io.Closer // nil: stderr
}

func (s *logSink) apply(o config.Logging) error {
	level, err := zapcore.ParseLevel(string(o.Level))
	if err != nil {
		return fmt.Errorf("logging.level: %w", err)
	}
	out, file := zapcore.Lock(os.Stderr), io.Closer(nil)
	if o.File != "" {
		f, err := openLogFile(o.File, int64(o.MaxBytes), o.Keep)
		if err != nil {
			return fmt.Errorf("logging.file: %w; name a file that can be written, or leave it empty for stderr", err)
		}
		out, file = zapcore.AddSync(f), f
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewConsoleEncoder(enc)
	if o.Format == config.LogJSON {
		encoder = zapcore.NewJSONEncoder(enc)
	}
	core := zapcore.NewCore(encoder, out, level)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
	s.core, s.file = core, file
	return nil
}

// closeLocked requires s.mu.
func (s *logSink) closeLocked() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// A liveCore is a zapcore.Core that passes each line to the current core of its sink.
type liveCore struct {
	sink   *logSink
	fields []zapcore.Field
}

// Enabled implements zapcore.LevelEnabler.
func (c liveCore) Enabled(l zapcore.Level) bool {
	c.sink.mu.RLock()
	defer c.sink.mu.RUnlock()
	return c.sink.core.Enabled(l)
}

// With implements zapcore.Core.
func (c liveCore) With(fields []zapcore.Field) zapcore.Core {
	return liveCore{c.sink, append(slices.Clip(c.fields), fields...)}
}

// Check implements zapcore.Core.
func (c liveCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c liveCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.sink.mu.RLock()
	defer c.sink.mu.RUnlock()
	return c.sink.core.Write(e, append(slices.Clip(c.fields), fields...))
}

// Sync implements zapcore.Core.
func (c liveCore) Sync() error {
	c.sink.mu.RLock()
	defer c.sink.mu.RUnlock()
	return c.sink.core.Sync()
}
