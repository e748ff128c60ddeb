package httpserve

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"

	"ptyctl/term"
)

// EnvironmentHeader carries the working folder and the variables of a person's command, for what it opens; see
// EncodeEnvironment. Only a handler with Options.Operator takes it: others would let a client say which programs and
// which agent count.
const EnvironmentHeader = "Ptyctl-Environment"

// MaxEnvironment is the most bytes of the header's value.
const MaxEnvironment = 192 << 10

// operatorHeader bounds the headers of a request where EnvironmentHeader is taken, in bytes.
const operatorHeader = MaxEnvironment + maxHeader

// EncodeEnvironment returns the value of EnvironmentHeader. The variables have the form of os.Environ.
func EncodeEnvironment(dir string, variables []string) string {
	// Neither a path nor a variable has a NUL, and both may have bytes that are no text.
	return base64.StdEncoding.EncodeToString([]byte(dir + "\x00" + strings.Join(variables, "\x00")))
}

// environment returns that of the command that makes the request; nil: it is this process's.
func (h *Handler) environment(r *http.Request) (*term.Environment, *refusal) {
	shown := r.Header.Values(EnvironmentHeader)
	if !h.o.Operator || len(shown) == 0 {
		return nil, nil
	}
	text, err := base64.StdEncoding.DecodeString(shown[0])
	dir, rest, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok || len(shown) > 1 || dir != "" && !filepath.IsAbs(dir) {
		return nil, refuse(http.StatusBadRequest, EnvironmentHeader+" is not as ptyctl sends it; omit it")
	}
	return term.NewEnvironment(dir, strings.Split(rest, "\x00")), nil
}
