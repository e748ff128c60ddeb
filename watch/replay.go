package watch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"ptyctl/record"
	"ptyctl/term"
	"ptyctl/watch/frame"
)

// Bounds of the answers about recordings.
const (
	mostRecordings = 500  // the newest
	mostMarkers    = 5000 // of one
)

// How a recording is played.
const (
	playStep = time.Second / 30 // between two frames
	idleStep = 2 * time.Second  // a longer pause is cut to this
)

// A stored is a recording in the list.
type stored struct {
	File     string `json:"file"`
	Session  string `json:"session,omitempty"`
	Host     string `json:"host,omitempty"`
	Started  int64  `json:"started"` // Unix milliseconds
	Bytes    int64  `json:"bytes"`
	Complete bool   `json:"complete,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// listRecordings lists the recordings, the newest first.
func (s *Server) listRecordings(w http.ResponseWriter, _ *http.Request) {
	list := []stored{}
	if s.o.Recordings == "" {
		answer(w, list)
		return
	}
	err := record.List(s.o.Recordings, func(r record.Stored) bool {
		about := r.Header.About
		one := stored{
			File: filepath.Base(r.Path), Session: cmp.Or(about.Session, r.Name), Host: about.Host,
			Started: about.Started.UnixMilli(), Bytes: r.Size, Complete: r.Ended,
		}
		if about.Started.IsZero() {
			one.Started = r.Written.UnixMilli()
		}
		if r.Err != nil {
			one.Problem = r.Err.Error()
		}
		list = append(list, one)
		if len(list) > 2*mostRecordings {
			list = append(list[:0], list[len(list)-mostRecordings:]...)
		}
		return true
	}, s.o.Identities...)
	if err != nil {
		fail(w, http.StatusInternalServerError, "IO_ERROR", err.Error())
		return
	}
	newest := []stored{}
	for i := len(list) - 1; i >= 0 && len(newest) < mostRecordings; i-- {
		newest = append(newest, list[i])
	}
	answer(w, newest)
}

// path returns the path of a recording of the list. The name is of the page, and must lead nowhere else.
func (s *Server) path(file string) (string, error) {
	if s.o.Recordings == "" || file == "" || file != filepath.Base(file) || file[0] == '.' {
		return "", term.Errorf(term.NotFound, "there is no such recording")
	}
	return filepath.Join(s.o.Recordings, file), nil
}

// A marker is one of a recording.
type marker struct {
	Time float64 `json:"t"` // seconds
	Text string  `json:"text"`
}

// recording answers with the length and the markers of a recording.
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	path, err := s.path(r.URL.Query().Get("file"))
	if err != nil {
		fail(w, http.StatusNotFound, "NOT_FOUND", err.Error())
		return
	}
	in, err := record.Open(path, s.o.Identities...)
	if err != nil {
		fail(w, http.StatusNotFound, "NOT_FOUND", fmt.Sprintf("the recording cannot be read: %v", err))
		return
	}
	defer in.Close()
	markers, last := []marker{}, time.Duration(0)
	for r.Context().Err() == nil {
		e, err := in.Next()
		if err != nil { // the end, or a part that cannot be read: the part before it can be shown
			break
		}
		last = e.Time
		if e.Code == 'm' && len(markers) < mostMarkers {
			markers = append(markers, marker{e.Time.Seconds(), e.Text})
		}
	}
	about := in.Header.About
	answer(w, outline{last.Seconds(), markers, about.Session, about.Host, about.Started.UnixMilli()})
}

// An outline describes a recording.
type outline struct {
	Length  float64  `json:"length"` // seconds
	Markers []marker `json:"markers"`
	Session string   `json:"session"`
	Host    string   `json:"host"`
	Started int64    `json:"started"` // Unix ms
}

// play streams the frames of a recording from a time on, as they follow each other in time.
func (s *Server) play(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	path, err := s.path(query.Get("file"))
	at, bad := strconv.ParseFloat(query.Get("at"), 64)
	speed, worse := strconv.ParseFloat(query.Get("speed"), 64)
	if err == nil && (bad != nil || worse != nil || !(at >= 0 && at < 1e7) || !(speed >= 0 && speed <= 100)) {
		err = term.Errorf(term.InvalidArgument, "no such time or speed")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, string(term.KindOf(err)), err.Error())
		return
	}
	p, err := record.Play(path, s.o.Identities...)
	if err == nil {
		defer p.Close()
		err = p.Seek(time.Duration(at * float64(time.Second)))
	}
	if err != nil {
		fail(w, http.StatusNotFound, "NOT_FOUND", fmt.Sprintf("the recording cannot be read: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	play := playing{w: w, player: p, speed: speed}
	play.run(r.Context())
}

// playing is a recording that is shown.
type playing struct {
	w      http.ResponseWriter
	player *record.Player
	speed  float64 // 0: one frame alone
	seen   *frame.Frame
}

// run shows frames until the end, or until the browser has gone.
func (p *playing) run(ctx context.Context) {
	if p.speed == 0 {
		_ = p.show(false)
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	began, from := time.Now(), p.player.Time()
	for {
		// Where the recording is to be now. A browser that is slow makes it skip frames, and nothing waits for it.
		to := from + time.Duration(float64(time.Since(began))*p.speed)
		next, err := p.player.Peek()
		if err == nil && next > to+idleStep { // a long pause
			from += next - to - idleStep
			to = from + time.Duration(float64(time.Since(began))*p.speed)
		}
		for err == nil && next <= to {
			if _, err = p.player.Next(); err == nil {
				next, err = p.player.Peek()
			}
		}
		if err == nil {
			err = p.player.Seek(to)
		}
		if p.show(err != nil) != nil || err != nil {
			return
		}
		timer.Reset(playStep)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// show writes the frame as it is now.
func (p *playing) show(end bool) error {
	now, _ := p.player.Shown.Peek()
	f := frame.Of(now, false)
	line := fmt.Appendf(nil, `{"t":%.3f`, p.player.Time().Seconds())
	if patch, changed := f.AppendPatch(append(line, `,"p":`...), p.seen); changed {
		line = patch
	}
	p.seen = f
	if end {
		line = append(line, `,"end":true`...)
	}
	if _, err := p.w.Write(append(line, "}\n"...)); err != nil {
		return err
	}
	return http.NewResponseController(p.w).Flush()
}
