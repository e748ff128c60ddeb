package term_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"ptyctl/term"
)

// A none is a Transport that must not be used.
type none struct{ term.Transport }

func TestDial(t *testing.T) {
	own := &term.Error{Kind: term.AuthFailed, Msg: "no"}
	tests := map[string]struct {
		tr   term.Transport
		err  error
		want term.Kind
	}{
		"a terminal":            {tr: &none{}},
		"neither":               {want: term.ConnectFailed},
		"a nil pointer":         {tr: (*none)(nil), want: term.ConnectFailed},
		"an error of this kind": {err: fmt.Errorf("hop 2: %w", own), want: term.AuthFailed},
		"canceled":              {err: fmt.Errorf("dial: %w", context.Canceled), want: term.Canceled},
		"a deadline":            {err: context.DeadlineExceeded, want: term.ConnectTimeout},
		"a deadline of a file":  {err: &os.PathError{Op: "read", Err: os.ErrDeadlineExceeded}, want: term.ConnectTimeout},
		"a timeout":             {err: &net.DNSError{Err: "timeout", IsTimeout: true}, want: term.ConnectTimeout},
		"a name":                {err: &net.DNSError{Err: "no such host", IsNotFound: true}, want: term.ConnectFailed},
		"a connection":          {err: &net.OpError{Op: "dial", Err: errors.New("refused")}, want: term.ConnectFailed},
		"any other":             {err: errors.New("hypervisor is away"), want: term.ConnectFailed},
		"both":                  {tr: &none{}, err: errors.New("half open"), want: term.ConnectFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := term.Dialer(func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
				return tt.tr, tt.err
			})
			tr, err := d.Dial(t.Context(), term.Target{Protocol: "vm"}, nil, nil)
			if term.KindOf(err) != tt.want || (tr != nil) != (tt.want == "") {
				t.Errorf("Dial = %v, %v (%s), want %q", tr, err, term.KindOf(err), tt.want)
			}
			if tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("%v does not wrap %v", err, tt.err)
			}
		})
	}
}
