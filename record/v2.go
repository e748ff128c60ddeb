package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"
)

// V2 writes a recording as asciicast v2, which older players read. It has no status of the program and no seals.
func V2(w io.Writer, r *Reader) error {
	out := bufio.NewWriter(w)
	head, err := json.Marshal(struct {
		Version   int               `json:"version"`
		Width     int               `json:"width"`
		Height    int               `json:"height"`
		Timestamp int64             `json:"timestamp,omitempty"`
		Title     string            `json:"title,omitempty"`
		Env       map[string]string `json:"env,omitempty"`
	}{2, r.Header.Term.Cols, r.Header.Term.Rows, r.Header.Timestamp, plain(r.Header.Title), env(r.Header.Term)})
	if err != nil {
		return err
	}
	_, _ = out.Write(append(head, '\n')) // Flush returns the error
	var line []byte
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if e.Code != codeOutput && e.Code != codeResize && e.Code != codeMarker {
			continue
		}
		line = strconv.AppendFloat(append(line[:0], '['), float64(e.Time/time.Microsecond)/1e6, 'f', 6, 64)
		line = append(line, ", \""...)
		line = append(line, e.Code)
		line = append(line, "\", \""...)
		line, _ = appendString(line, []byte(e.Text))
		line = append(line, "\"]\n"...)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
}

func env(t Term) map[string]string {
	if t.Type == "" {
		return nil
	}
	return map[string]string{"TERM": plain(t.Type)}
}
