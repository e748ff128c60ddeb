package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// integer declares a key of type TypeInt with inclusive bounds.
func integer(p *int, path string, def, min, max int, doc string) row {
	*p = def
	form := fmt.Sprintf("a whole number from %d to %d", min, max)
	k := Key{
		Path:    path,
		Type:    TypeInt,
		Default: strconv.Itoa(def),
		Min:     int64(min),
		Max:     int64(max),
		Form:    form,
		Doc:     doc,
	}
	return newRow(k, func(text []string) error {
		n, err := strconv.Atoi(text[0])
		if err != nil || n < min || n > max {
			return instead(text[0], form)
		}
		*p = n
		return nil
	})
}

// millis declares a key of type TypeDuration. Its value in the file is in milliseconds,
// and its name should end in _ms.
func millis(p *time.Duration, path string, def, min, max time.Duration, doc string) row {
	*p = def
	k := Key{Path: path, Type: TypeDuration, Min: min.Milliseconds(), Max: max.Milliseconds(), Doc: doc}
	k.Default = strconv.FormatInt(def.Milliseconds(), 10)
	k.Form = fmt.Sprintf("a whole number of milliseconds from %d to %d", k.Min, k.Max)
	return newRow(k, func(text []string) error {
		n, err := strconv.ParseInt(text[0], 10, 64)
		if err != nil || n < k.Min || n > k.Max {
			return instead(text[0], k.Form)
		}
		*p = time.Duration(n) * time.Millisecond
		return nil
	})
}

// boolean declares a key of type TypeBool.
func boolean(p *bool, path string, def bool, doc string) row {
	*p = def
	const form = "true or false"
	k := Key{Path: path, Type: TypeBool, Default: strconv.FormatBool(def), Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		switch text[0] {
		case "true", "1":
			*p = true
		case "false", "0":
			*p = false
		default:
			return instead(text[0], form)
		}
		return nil
	})
}

// enum declares a key of type TypeEnum with the given values.
func enum[T ~string](p *T, path string, def T, doc string, values ...T) row {
	*p = def
	k := Key{Path: path, Type: TypeEnum, Default: strconv.Quote(string(def)), Doc: doc}
	for _, v := range values {
		if v != "" {
			k.Values = append(k.Values, string(v))
		}
	}
	k.Form = "one of " + strings.Join(k.Values, ", ")
	if len(k.Values) == 1 {
		k.Form = k.Values[0]
	}
	if slices.Contains(values, "") {
		k.Form += ", or leave it empty"
	}
	return newRow(k, func(text []string) error {
		if !slices.Contains(values, T(text[0])) {
			return instead(text[0], k.Form)
		}
		*p = T(text[0])
		return nil
	})
}

// text declares a key of type TypeString.
func text(p *string, path, def, doc string) row {
	*p = def
	const form = "a string without control characters"
	k := Key{Path: path, Type: TypeString, Default: strconv.Quote(def), Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		if hasControl(text[0]) {
			return instead(text[0], form)
		}
		*p = text[0]
		return nil
	})
}

// secret declares a key with a value that must not appear in any message.
func secret(p *Secret, path, doc string) row {
	*p = Secret{}
	const form = "a string"
	k := Key{Path: path, Type: TypeSecret, Default: `""`, Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		*p = NewSecret(text[0])
		return nil
	})
}

// pathForm describes a valid path in messages.
const pathForm = "an absolute path or one that begins with ~/"

// path declares a string key that names a file; the default is "".
func path(p *string, home, path, doc string) row {
	*p = ""
	k := Key{Path: path, Type: TypeString, Default: `""`, Form: pathForm + ", or leave it empty", Doc: doc}
	return newRow(k, func(text []string) error {
		abs := ""
		if text[0] != "" {
			var err error
			if abs, err = absolute(text[0], home); err != nil {
				return fmt.Errorf("is %s; %w", show(text[0]), err)
			}
		}
		*p = abs
		return nil
	})
}

// paths declares a list of folders; the default is the empty list.
func paths(p *[]string, home, path, doc string) row {
	*p = nil
	k := Key{
		Path:    path,
		Type:    TypeStrings,
		Default: "[]",
		Form:    "a list of absolute paths, or of paths that begin with ~/",
		Doc:     doc,
	}
	return newRow(k, func(text []string) error {
		var list []string
		for _, t := range text {
			abs, err := absolute(t, home)
			if err != nil {
				return fmt.Errorf("holds %s; %w", show(t), err)
			}
			list = append(list, abs)
		}
		*p = list
		return nil
	})
}

// words declares a list of words; the default is the empty list.
func words(p *[]string, path, doc string) row {
	*p = nil
	const form = "a list of words without spaces"
	k := Key{Path: path, Type: TypeStrings, Default: "[]", Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		for _, t := range text {
			if t == "" || hasControl(t) || strings.ContainsAny(t, " ,") {
				return fmt.Errorf("holds %s; give %s", show(t), form)
			}
		}
		*p = slices.Clone(text)
		return nil
	})
}

// texts declares a list of strings that may contain spaces; the default is the empty
// list.
func texts(p *[]string, path, doc string) row {
	*p = nil
	const form = "a list of strings that are not empty"
	k := Key{Path: path, Type: TypeStrings, Default: "[]", Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		for _, t := range text {
			if strings.TrimSpace(t) == "" || hasControl(t) {
				return fmt.Errorf("holds %s; give %s", show(t), form)
			}
		}
		*p = slices.Clone(text)
		return nil
	})
}

// document declares a string that may have several lines. Its user must check it.
func document(p *string, path, doc string) row {
	*p = ""
	k := Key{Path: path, Type: TypeString, Default: `""`, Form: "a string", Doc: doc}
	return newRow(k, func(text []string) error {
		*p = text[0]
		return nil
	})
}

// hostPort checks an address to listen on.
func hostPort(text string) error {
	_, port, err := net.SplitHostPort(text)
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
		return fmt.Errorf("is %s; give HOST:PORT, such as 127.0.0.1:8765 or [::1]:8765", show(text))
	}
	return nil
}

// assignments declares a list of NAME=value; the default is the empty list.
func assignments(p *[]string, path, doc string) row {
	*p = nil
	const form = "a list of NAME=value"
	k := Key{Path: path, Type: TypeStrings, Default: "[]", Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		for _, t := range text {
			if name, _, ok := strings.Cut(t, "="); !ok || name == "" || hasControl(t) {
				return fmt.Errorf("holds %s; give %s", show(t), form)
			}
		}
		*p = slices.Clone(text)
		return nil
	})
}

// logFile declares a path that must not be stdout, which carries the MCP messages.
func logFile(p *string, home, name, doc string) row {
	r := path(p, home, name, doc)
	file := r.set
	r.set = func(text []string) error {
		switch filepath.ToSlash(filepath.Clean(text[0])) {
		case "stdout", "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
			return fmt.Errorf(
				"is %s, but stdout carries the MCP messages; give an absolute path, or leave it empty to use stderr",
				show(text[0]),
			)
		case "stderr":
			return fmt.Errorf("is %s; leave it empty for stderr", show(text[0]))
		}
		return file(text)
	}
	return r
}

// absolute returns the clean absolute form of a path, with ~ as the home folder. Its
// error describes a valid path.
func absolute(path, home string) (string, error) {
	if rest, tilde := strings.CutPrefix(filepath.ToSlash(path), "~"); tilde && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", errors.New("the home folder is unknown, so give an absolute path")
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) || hasControl(path) {
		return "", errors.New("give " + pathForm)
	}
	return filepath.Clean(path), nil
}
