package sshx

import (
	"reflect"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// TestSettingsOfOptions checks that no option is lost on the way to the plan: a lost one would
// be looser than the operator has set it.
func TestSettingsOfOptions(t *testing.T) {
	var o Options
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet():
		case f.Kind() == reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				panic("called")
			}))
		case f.Kind() == reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.CanInt():
			f.SetInt(int64(i) + 1)
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{v.Type().Field(i).Name}))
		case f.Type() == reflect.TypeFor[[]byte]():
			f.SetBytes([]byte(v.Type().Field(i).Name))
		case f.Type() == reflect.TypeFor[[]ssh.Signer]():
			f.Set(reflect.ValueOf([]ssh.Signer{nil}))
		case f.Type() == reflect.TypeFor[agent.Agent]():
			f.Set(reflect.ValueOf(agent.NewKeyring()))
		case f.Type() == reflect.TypeFor[term.Answerer]():
			f.Set(reflect.ValueOf(&struct{ term.Answerer }{}))
		}
	}
	got := reflect.ValueOf(o.settings())
	for _, f := range reflect.VisibleFields(reflect.TypeFor[plan.Settings]()) {
		want, is := v.FieldByName(f.Name), got.FieldByIndex(f.Index)
		switch {
		case want.IsValid() && want.IsZero():
			t.Errorf("the test sets no value of Options.%s", f.Name)
		case !want.IsValid():
			t.Errorf("plan.Settings has a field %s, and Options has none", f.Name)
		case f.Type.Kind() == reflect.Func:
			if is.IsNil() {
				t.Errorf("settings().%s is nil", f.Name)
			}
		case !reflect.DeepEqual(is.Interface(), want.Interface()):
			t.Errorf("settings().%s = %v, want %v", f.Name, is, want)
		}
	}
	// The other way round: the options that a plan need not know.
	others := map[string]bool{"MaxConnectionsPerHost": true, "Logger": true}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !got.FieldByName(f.Name).IsValid() && !others[f.Name] {
			t.Errorf("Options.%s does not reach the plan", f.Name)
		}
	}
}
