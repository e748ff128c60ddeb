package known

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/secret/forms"
	"ptyctl/session/display"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const planted = "hunter2-1138"

var web1, web2 = term.Place("web1.example.net", 22), term.Place("web2.example.net", 22)

// at makes a view of a session that leads over or to hosts.
func at(r *Registry, session string, places ...string) *View {
	v := r.View(session)
	v.Keep()
	for _, p := range places {
		v.At(p)
	}
	return v
}

// wantHidden fails the test unless the view hides text, or not.
func wantHidden(t *testing.T, v *View, text string, want bool) {
	t.Helper()
	if got := v.String("is "+text+".") == "is ********."; got != want {
		t.Errorf("session %s hides %q = %v, want %v", v.session, text, got, want)
	}
}

// A value is hidden in the sessions that lead over or to its host, also in those that open later, and in no other.
func TestHosts(t *testing.T) {
	r := NewRegistry()
	defer r.Close()
	early, other := at(r, "early", web2, web1), at(r, "other", web2)
	r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
	late := at(r, "late", web1)
	wantHidden(t, early, planted, true)
	wantHidden(t, late, planted, true)
	wantHidden(t, other, planted, false)

	// An address and a key tell that names are of one host.
	byAddress := at(r, "address", "192.0.2.1:22")
	wantHidden(t, byAddress, planted, false)
	late.At(web1, "192.0.2.1:22")
	wantHidden(t, byAddress, planted, true)
	byKey := at(r, "key", "web1:2222")
	byKey.At("web1:2222", "SHA256:abc")
	wantHidden(t, byKey, planted, false)
	late.At(web1, "SHA256:abc")
	wantHidden(t, byKey, planted, true)

	// A value given only to a session belongs to its host, the last one on the way.
	r.Redact(term.RedactedValue{Value: []byte("second-1138"), Session: "early"})
	wantHidden(t, early, "second-1138", true)
	wantHidden(t, late, "second-1138", true)
	wantHidden(t, other, "second-1138", false)
}

// A value is forgotten with the last session of its host.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1}) // the session comes in a moment
		one, two := at(r, "one", web1), at(r, "two", web1)
		wantHidden(t, one, planted, true)
		text := r.hosts[web1].values[0].text
		set := one.set.Load()
		one.Drop()
		wantHidden(t, one, planted, false)
		wantHidden(t, two, planted, true)
		two.Drop()
		if !bytes.Equal(text, make([]byte, len(text))) || set.m.Any() || len(r.hosts) != 0 {
			t.Errorf("after the last session, %q, a matcher (%v) and %d hosts are left", text, set.m.Any(), len(r.hosts))
		}
		three := at(r, "three", web1)
		wantHidden(t, three, planted, false)

		// A login without a later session.
		r.Redact(term.RedactedValue{Value: []byte(planted), Host: web2})
		time.Sleep(unused + time.Second)
		r.mu.Lock()
		if len(r.hosts) != 1 {
			t.Errorf("%d hosts are left, want that of the session alone", len(r.hosts))
		}
		r.mu.Unlock()
	})
}

// A value that is given again, or to hosts that turn out to be one, is kept once. The other copies are overwritten, of a
// code the one that would be forgotten sooner.
func TestEqualValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		v := at(r, "one", web1)
		at(r, "two", web2)
		give := func(host string, oneTime bool) []byte {
			r.Redact(term.RedactedValue{Value: []byte(planted), Host: host, OneTime: oneTime})
			values := r.hosts[host].values
			return values[len(values)-1].text
		}
		code := give(web1, true)
		time.Sleep(time.Second)
		later := give(web1, true)
		kept, other := give(web1, false), give(web2, false)
		again := give(web1, false)
		v.At(web1, web2)
		left := r.hosts[web2].values
		if len(left) != 1 || string(left[0].text) != planted || &again[0] != &kept[0] {
			t.Errorf("of equal values %d are kept, want one", len(left))
		}
		for name, text := range map[string][]byte{"code": code, "later code": later, "value of the other host": other} {
			if &text[0] != &left[0].text[0] && !bytes.Equal(text, make([]byte, len(text))) {
				t.Errorf("the %s is still %q, want it overwritten", name, text)
			}
		}
		wantHidden(t, v, planted, true)
	})
}

// A command that still has output when its session is forgotten shows no value.
func TestForgottenWhileItWrites(t *testing.T) {
	r := NewRegistry()
	defer r.Close()
	v := at(r, "one", web1)
	r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
	text := r.hosts[web1].values[0].text
	var got bytes.Buffer
	w := NewWriter(v, &got, func(func()) bool { return false })
	for _, part := range []string{"<" + planted + "> <" + planted[:7], planted[7:] + "> <" + planted + ">"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
		v.Drop()
	}
	w.End()
	w.End()
	if want := "<********> <********> <********>"; got.String() != want {
		t.Errorf("the output is %q, want %q", got.String(), want)
	}
	if !bytes.Equal(text, make([]byte, len(text))) || v.Any() {
		t.Errorf("after the output %q is left, want it overwritten", text)
	}
}

// A code is hidden for two minutes, as a word; a later use of the same value starts the two minutes again.
func TestCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		v := at(r, "one", web1)
		give := func() {
			r.Redact(term.RedactedValue{Value: []byte("287082"), Host: web1, Session: "one", OneTime: true})
		}
		give()
		r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
		wantHidden(t, v, "287082", true)
		wantHidden(t, v, "1287082", false)
		time.Sleep(oneTime - time.Second)
		give()
		time.Sleep(2 * time.Second)
		wantHidden(t, v, "287082", true)
		time.Sleep(oneTime)
		wantHidden(t, v, "287082", false)
		wantHidden(t, v, planted, true)
	})
}

// The end of output waits for a moment if it may be the beginning of a value, and then is shown; the rest is hidden.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		v := at(r, "one", web1)
		r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
		var got bytes.Buffer
		var wg sync.WaitGroup
		var cut string
		s := NewStream(v, func(p []byte, cuts []forms.Cut) {
			got.Write(p)
			for _, c := range cuts {
				cut += string(c.Text)
			}
		}, func(f func()) bool { wg.Go(f); return true })
		want := func(text string) {
			t.Helper()
			synctest.Wait()
			if got.String() != text {
				t.Errorf("the output is %q, want %q", got.String(), text)
			}
		}
		const brief = forms.Brief + time.Millisecond
		s.Write([]byte("a hunter"))
		want("")
		time.Sleep(brief)
		want("")
		s.Write([]byte("2-1138\r\n"))
		time.Sleep(brief)
		want("a ********\r\n")
		s.Write([]byte("hunte"))
		time.Sleep(201 * time.Millisecond)
		want("a ********\r\nhunte")
		s.Write([]byte("r2-1138."))
		time.Sleep(brief)
		want("a ********\r\nhunte********.")
		s.Write([]byte("hunt"))
		s.Break()
		want("a ********\r\nhunte********.hunt")
		// A value that comes byte by byte, slower than a byte waits, is not shown at once either.
		got.Reset()
		for _, c := range planted[:len(planted)-1] {
			s.Write([]byte{byte(c)})
			time.Sleep(15 * time.Millisecond)
		}
		want("")
		s.Write([]byte("8!"))
		time.Sleep(brief)
		want("********!")
		s.Write([]byte("hunt"))
		s.End()
		want("********!hunt")
		if cut != planted+"r2-1138"+planted {
			t.Errorf("the parts that were cut are %q", cut)
		}
		wg.Wait()
	})
}

// The time after which output is shown does not tell whether it is the beginning of a value: each end waits equally, and
// long waits in vain are few.
func TestTimesTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		v := at(r, "one", web1)
		r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
		var wg sync.WaitGroup
		shown := func(text string) (times []time.Duration) { // for each byte
			var n int
			began := time.Now()
			s := NewStream(v, func(p []byte, _ []forms.Cut) {
				for n += len(p); len(times) < n; {
					times = append(times, time.Since(began))
				}
			}, func(f func()) bool { wg.Go(f); return true })
			s.Write([]byte(text))
			time.Sleep(2 * time.Second)
			s.End()
			wg.Wait()
			return times
		}
		long := 0
		for range 3 {
			for n := 1; n < len(planted); n++ {
				for _, end := range []string{"", "\r\n"} {
					right, wrong := shown("say "+planted[:n]+end), shown("say "+planted[:n-1]+"_"+end)
					switch {
					case slices.Equal(right, wrong):
					case right[len(right)-1] > forms.Brief:
						long++
					default:
						t.Errorf("the right beginning %q is shown after %v, a wrong one after %v", planted[:n], right, wrong)
					}
				}
			}
		}
		if long > inVain {
			t.Errorf("%d right guesses took longer than wrong ones, want at most %d", long, inVain)
		}
	})
}

// Values come and go while streams run: no output is lost, no value is shown, and none is used after it is wiped. The
// clock of the bubble is stopped meanwhile: a busy machine would pause a stream for longer than the beginning of a
// value waits.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		defer r.Close()
		var wg sync.WaitGroup
		for i := range 4 {
			v := at(r, fmt.Sprint("s", i), web1)
			r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
			wg.Go(func() {
				var got bytes.Buffer
				w := NewWriter(v, &got, func(f func()) bool { wg.Go(f); return true })
				line := "a line with " + planted + " in it\r\n"
				for range 100 {
					for rest := line; rest != ""; {
						n := min(len(rest), 7)
						if _, err := io.WriteString(w, rest[:n]); err != nil {
							t.Error(err)
						}
						rest = rest[n:]
					}
				}
				w.End()
				if want := strings.Repeat("a line with ******** in it\r\n", 100); got.String() != want {
					t.Errorf("the output has %d bytes, want %d, with %d masks", got.Len(), len(want), strings.Count(got.String(), "********"))
				}
			})
			wg.Go(func() {
				for n := range 5 {
					r.Redact(term.RedactedValue{Value: fmt.Appendf(nil, "other-planted-%d-%d", i, n), Host: web1, OneTime: n%2 == 0})
					at(r, fmt.Sprint("t", i, n), web1).Drop()
				}
			})
		}
		wg.Wait()
	})
}

// Errors, events, questions, descriptions and the log show no value, and errors keep their kind and cause.
func TestTexts(t *testing.T) {
	r := NewRegistry()
	defer r.Close()
	v := at(r, "one", web1)
	cause := errors.New("the host said " + planted)
	err := &term.Error{Kind: term.AuthFailed, Msg: "no: " + planted, Err: cause, Facts: term.Facts{term.Prompt{Text: planted + "? "}}}
	if got := v.Error(err); got != error(err) {
		t.Errorf("Error without values = %v, want the same", got)
	}
	r.Redact(term.RedactedValue{Value: []byte(planted), Session: "one"})
	hidden := v.Error(err)
	if s := fmt.Sprintf("%v %+v", hidden, term.FactOf[term.Prompt](hidden.(*term.Error))); strings.Contains(s, planted) ||
		!errors.Is(hidden, cause) || term.KindOf(hidden) != term.AuthFailed {
		t.Errorf("the hidden error is %q, of kind %s, and the same as its cause: %v", s, term.KindOf(hidden), errors.Is(hidden, cause))
	}
	wrapped := v.Error(fmt.Errorf("outside: %w", err))
	if own, ok := errors.AsType[*term.Error](wrapped); !ok || strings.Contains(own.Error()+wrapped.Error(), planted) {
		t.Errorf("the wrapped error is %v, with %v in it; want masks", wrapped, own)
	}
	e := v.Event(term.Event{Verb: term.VerbExec, Command: "echo " + planted, Detail: planted, Path: planted, Data: []byte(planted), Err: err,
		Host: planted, Plan: &term.Plan{
			Proxy: &term.PlannedHop{User: planted}, Hops: []term.PlannedHop{{Alias: planted, Names: []string{planted}}},
			Env: []term.EnvVar{{Name: "A", Value: planted}}, RemoteCommand: planted,
		}})
	plan, _ := json.Marshal(e.Plan)
	d := v.Description(term.Description{ServerBanner: planted, Warnings: []string{"x", planted}})
	q := v.Prompt(term.Prompt{Text: "not " + planted + ": "})
	var log bytes.Buffer
	l := slog.New(r.LogHandler(slog.NewTextHandler(&log, nil))).With("a", planted).WithGroup("g")
	l.InfoContext(context.Background(), "m "+planted, "err", cause, "n", 7, slog.Group("in", "text", planted))
	for what, text := range map[string]string{
		"event": fmt.Sprintf("%+v %s %s", e, e.Data, plan), "description": fmt.Sprintf("%+v", d), "question": q.Text, "log": log.String(),
	} {
		if strings.Contains(text, planted) || !strings.Contains(text, "********") {
			t.Errorf("the %s is %s, want it masked", what, text)
		}
	}
	if !strings.Contains(log.String(), "g.n=7") {
		t.Errorf("the log is %s, want its numbers as they are", log.String())
	}
	other := at(r, "two", web2)
	if e := other.Event(term.Event{Verb: term.VerbOpen, Command: "echo " + planted}); e.Command != "echo ********" {
		t.Errorf("the event of a session elsewhere has the command %q, want it masked", e.Command)
	}
	if out := v.Event(term.Event{Verb: term.VerbOutput, Data: []byte(planted)}); string(out.Data) != planted {
		t.Errorf("the output was masked twice: %q", out.Data)
	}
	if got := string(v.Part([]byte("x"+planted+"y"), 4, 8)); got != "********" {
		t.Errorf("a part of the planted is %q, want a mask", got)
	}
}

// A nil view, of a program without a registry, changes nothing.
func TestNone(t *testing.T) {
	var none *Registry
	v := none.View("s")
	v.Keep()
	v.At(web1)
	v.Redact(term.RedactedValue{Value: []byte(planted)})
	wantHiddenNot := v.String(planted) + string(v.Bytes([]byte(planted))) + string(v.Part([]byte(planted), 0, 4))
	if want := planted + planted + planted[:4]; wantHiddenNot != want {
		t.Errorf("a nil view makes %q, want %q", wantHiddenNot, want)
	}
	var got bytes.Buffer
	w := NewWriter(v, &got, nil)
	_, _ = w.Write([]byte(planted))
	w.End()
	if got.String() != planted {
		t.Errorf("a writer of a nil view writes %q", got.String())
	}
	v, leave := none.Visit(web1)
	leave()
	v.Drop()
}

// A screen shows no value, also where its parts were drawn in another order.
func TestDrawnInAnotherOrder(t *testing.T) {
	r := NewRegistry()
	defer r.Close()
	v := at(r, "one", web1)
	d := display.New(40, 3)
	d.Conceal(v)
	draw := func(text string) string {
		var out bytes.Buffer
		w := NewWriter(v, &out, func(func()) bool { return false })
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		w.End()
		d.Show(out.Bytes(), nil)
		return d.View(0).Text()
	}
	backwards := "\x1b[1;9H" + planted[6:] + "\x1b[1;3H" + planted[:6] + "\r\n"
	if got := draw(backwards); !strings.Contains(got, planted) {
		t.Fatalf("without a known value the screen shows %q, want the text", got)
	}
	r.Redact(term.RedactedValue{Value: []byte(planted), Host: web1})
	if got := draw("more"); strings.Contains(got, planted) || !strings.Contains(got, strings.Repeat("*", len(planted))) {
		t.Errorf("the screen shows %q, want a mask", got)
	}
}
