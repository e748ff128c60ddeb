package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The forms that metrics are exposed in: the text format of Prometheus, and OpenMetrics, which Prometheus prefers.
const (
	textType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
	openType = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
)

// expose serves the families, which are in the order of their names.
func expose(families []family) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exposition{open: prefersOpen(r.Header.Get("Accept"))}
		for _, f := range families {
			f.samples(e)
		}
		kind := textType
		if e.open {
			kind = openType
			e.WriteString("# EOF\n")
		}
		w.Header().Set("Content-Type", kind)
		if !acceptsGzip(r.Header.Get("Accept-Encoding")) {
			_, _ = e.WriteTo(w) // who has gone sees no error either
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.Copy(z, e)
		_ = z.Close()
	})
}

// An exposition is the text of metrics.
type exposition struct {
	bytes.Buffer

	open bool // in OpenMetrics
}

// head writes what is said about a family, before its samples. OpenMetrics names a counter without its suffix.
func (e *exposition) head(d description, kind string) {
	name := d.name
	if e.open && kind == "counter" {
		name = strings.TrimSuffix(name, "_total")
	}
	e.WriteString("# HELP " + name + " " + d.help + "\n# TYPE " + name + " " + kind + "\n")
}

func (e *exposition) sample(d description, labels []string, v float64) {
	e.line(d.name, d.labels, labels, e.number(v))
}

func (e *exposition) bucket(d description, labels []string, bound float64, n uint64) {
	e.line(d.name+"_bucket", append(slices.Clip(d.labels), "le"), append(slices.Clip(labels), e.number(bound)), strconv.FormatUint(n, 10))
}

func (e *exposition) total(d description, labels []string, sum float64, n uint64) {
	e.line(d.name+"_sum", d.labels, labels, e.number(sum))
	e.line(d.name+"_count", d.labels, labels, strconv.FormatUint(n, 10))
}

// escaped escapes the value of a label.
var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (e *exposition) line(name string, labels, values []string, number string) {
	e.WriteString(name)
	for i, label := range labels {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		e.WriteByte(before)
		e.WriteString(label + `="` + escaped.Replace(values[i]) + `"`)
	}
	if len(labels) > 0 {
		e.WriteByte('}')
	}
	e.WriteString(" " + number + "\n")
}

// number formats a value. In OpenMetrics a number with a fraction always shows it.
func (e *exposition) number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if e.open && !strings.ContainsAny(s, ".eI") {
		s += ".0"
	}
	return s
}

// prefersOpen reports whether the header Accept of a request wants OpenMetrics rather than text.
func prefersOpen(accept string) bool {
	var open, text float64
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		switch kind {
		case "application/openmetrics-text":
			if v := params["version"]; v == "" || v == "0.0.1" || v == "1.0.0" {
				open = max(open, weight)
			}
		case "text/plain":
			text = max(text, weight)
		}
	}
	return open > 0 && open >= text
}

// acceptsGzip reports whether the header Accept-Encoding of a request has gzip.
func acceptsGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if strings.TrimSpace(coding) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
