package daemon

import "testing"

// A difference names the keys with both values, the first few of them.
func TestDifference(t *testing.T) {
	a := Engine{{"a", "1"}, {"b", "2"}, {"c", "3"}}
	for _, test := range []struct {
		other Engine
		want  string
	}{
		{Engine{{"a", "1"}, {"b", "2"}, {"c", "3"}}, ""},
		{Engine{{"a", "1"}, {"b", "9"}, {"c", "3"}}, "b is 2 here and 9 there"},
		{Engine{{"a", "1"}, {"b", "2"}}, "c is 3 here and the default there"},
		{Engine{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, "d is the default here and 4 there"},
		{Engine{{"u", "1"}, {"v", "2"}, {"w", "3"}}, "a is 1 here and the default there; b is 2 here and the default there; c is 3 here and the default there; u is the default here and 1 there; v is the default here and 2 there; and 1 more"},
	} {
		if got := a.Difference(test.other); got != test.want {
			t.Errorf("Difference(%v) = %q, want %q", test.other, got, test.want)
		}
		if same := a.Name() == test.other.Name(); same != (test.want == "") {
			t.Errorf("Name of %v and of %v: equal %t, want %t", a, test.other, same, test.want == "")
		}
	}
}
