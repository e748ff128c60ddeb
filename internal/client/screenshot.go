package client

import "context"

// Screenshot returns the picture of the session's screen, as PNG. An empty theme is the server's default.
func (s *Session) Screenshot(ctx context.Context, theme string) ([]byte, error) {
	return s.Process.Picture(ctx, ToolIO, IOCall{
		Action: "read", SessionID: s.SessionID, Format: "png", Theme: theme,
	}, "image/png")
}

// ScreenText returns the session's screen as numbered rows of text.
func (s *Session) ScreenText(ctx context.Context) ([]byte, error) {
	var r IOResult
	err := s.Process.Call(ctx, ToolIO, IOCall{Action: "read", SessionID: s.SessionID, Format: "screen"}, &r)
	return []byte(r.Chunk), err
}
