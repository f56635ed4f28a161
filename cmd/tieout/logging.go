package main

import (
	"context"
	"log/slog"
)

// logger makes the logger of a command. Logs go to stderr: stdout is for
// results.
func (a *app) logger(cfg *config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.slogLevel()}
	if cfg.LogFormat == formatJSON {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}

// quietLogger is for libraries that tell much at info: it passes warnings and
// errors on, and everything where debugging was asked for.
func quietLogger(logger *slog.Logger) *slog.Logger {
	return slog.New(&quietHandler{logger.Handler()})
}

type quietHandler struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h *quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, level) && (level >= slog.LevelWarn || h.Handler.Enabled(ctx, slog.LevelDebug))
}

// WithAttrs implements slog.Handler.
func (h *quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &quietHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *quietHandler) WithGroup(name string) slog.Handler {
	return &quietHandler{h.Handler.WithGroup(name)}
}
