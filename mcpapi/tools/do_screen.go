package tools

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/screen"
	"ptyctl/screen/picture"
	"ptyctl/session"
	"ptyctl/term"
)

// settle is how long the screen rests before a call that gives no condition returns it: long enough for a program that
// a shell starts after it has shown the line.
const settle = 200 * time.Millisecond

// settled adds the stable condition to a read of the screen that must wait but has no condition.
func settled(r session.ReadRequest) session.ReadRequest {
	if !r.NoWait && !r.Screen.Any() && !r.Prompt && r.Idle == 0 && len(r.WaitFor) == 0 {
		r.Screen.Stable = settle
	}
	return r
}

// entered returns the last line of data if data enters it, as a terminal may show it.
func entered(data []byte) string {
	line, ok := bytes.CutSuffix(data, []byte("\r"))
	if !ok {
		line, ok = bytes.CutSuffix(data, []byte("\n"))
	}
	if line = line[bytes.LastIndexAny(line, "\r\n")+1:]; !ok || !utf8.Valid(line) {
		return ""
	}
	return strings.TrimSpace(string(line))
}

// look returns the screen, at once unless the call has a condition to wait for.
func look(ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, out *ioOut) error {
	r, conditions, err := readRequest(c, in)
	if err != nil {
		return err
	}
	if conditions {
		r = settled(r)
	}
	return readScreen(ctx, c, s, r, in, out)
}

// readScreen waits as r says, and adds the screen to the result.
func readScreen(
	ctx context.Context, c *toolset.Call, s *session.Session, r session.ReadRequest, in *ioArgs, out *ioOut,
) error {
	if i := s.Info(); i.State == session.Open && !i.About.PTY {
		return &term.Error{
			Session: s.ID(), Kind: term.Unsupported,
			Msg: "this session has no terminal, so it has no screen; leave format out to read its output",
		}
	}
	if out.screen(ctx, c, s, r, in) && c.Action() == "read" {
		return s.TooManyReads()
	}
	return canceled(ctx, s)
}

// screen is readScreen for a session with a terminal. It reports whether too many reads wait, so that this one has not.
func (out *ioOut) screen(
	ctx context.Context, c *toolset.Call, s *session.Session, r session.ReadRequest, in *ioArgs,
) (late bool) {
	since, _ := in.since(c.Checker()) // checked before
	d, k := s.ServerView().ReadScreen(ctx, r, since, in.Format)
	if late = k.Reason == session.ReasonLimit; late && c.Action() != "read" { // the rest of the call is done
		c.Inform(wire.WordsFor(ctx).Of(s.TooManyReads()))
	}
	k.Data = []byte(in.screenText(c, d, r.MaxBytes))
	out.show(k, "")
	if in.Format == formatPNG {
		out.draw(ctx, c, d, in)
	}
	out.Version = strconv.FormatUint(d.Version, 10)
	if k.EOF {
		out.EndCode = s.Info().End.Code
	}
	if k.Next == k.Buffer.End && !k.EOF && s.State() == session.Open {
		out.WaitingFor = (*wire.Waiting)(s.Waiting())
	}
	return late
}

// screenText is the text of a screen, as far as the call asks for it, at most that many bytes.
func (in *ioArgs) screenText(c *toolset.Call, d session.Screen, most int) string {
	o := screen.Options{Attributes: in.Attrs, Links: in.Links, BoxDrawing: in.Box}
	if o.First, o.Last, _ = in.rows(c.Checker()); o.First > d.Rows { // the range was checked before
		c.Inform(fmt.Sprintf("rows %s: the screen has %d rows", in.Rows, d.Rows))
	}
	text := d.Render(o)
	if d.Partial {
		head, rest, _ := strings.Cut(text, "\n")
		text = head + " partial: output too costly to draw was left out\n" + rest
	}
	return cutScreen(text, most)
}

// pictures limits the pictures drawn at a time: a picture may take 20 MB and a third of a second.
var pictures = make(chan struct{}, 2)

// draw adds a picture of the screen to the result, when its turn comes.
func (out *ioOut) draw(ctx context.Context, c *toolset.Call, d session.Screen, in *ioArgs) {
	select {
	case pictures <- struct{}{}:
		defer func() { <-pictures }()
	case <-ctx.Done():
		c.Inform("there is no picture: the call ended before its turn to draw")
		return
	}
	o := picture.Options{Theme: in.Theme}
	if first, last, _ := in.rows(c.Checker()); first > 0 && first <= d.Rows {
		o.Part = image.Rect(0, first-1, d.Cols, last)
	}
	var file bytes.Buffer
	p, err := picture.Draw(d.Snapshot, o)
	if err == nil {
		err = p.Encode(&file)
	}
	if err != nil {
		c.Inform("there is no picture: " + err.Error())
		return
	}
	if p.Cut {
		c.Inform(fmt.Sprintf("the picture shows rows %d-%d and columns %d-%d only: it has at most %d rows and %d columns; rows chooses others",
			p.Part.Min.Y+1, p.Part.Max.Y, p.Part.Min.X+1, p.Part.Max.X, picture.MaxRows, picture.MaxCols))
	}
	out.picture = file.Bytes()
}
