package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// everyType has an argument of each type.
type everyType struct {
	everyEmbedded
	Optional *string           `json:"optional" is:"filled"`
	Number   int64             `json:"number" min:"-5" max:"1<<40" default:"7" doc:"how many"`
	Unsigned uint64            `json:"unsigned" default:"3"`
	Flag     *bool             `json:"flag"`
	List     *[]string         `json:"list"`
	Map      map[string]string `json:"map"`
	Object   everyObject       `json:"object"`
	Pointer  *everyObject      `json:"pointer"`
	Objects  []everyItem       `json:"objects" max:"2"`
}

type everyItem struct {
	Name string  `json:"name" is:"filled"`
	Data *string `json:"data"`
}

type everyEmbedded struct {
	Text string `json:"text" need:"*" enum:"a b"`
}

type everyObject struct {
	Shown  string `json:"shown"`
	Hidden int    `json:"hidden"`
}

func bound[A any]() *Tool {
	return Declare[A](Tool{Name: "t", Actions: []Action{{}}})
}

func TestDeclareDecodes(t *testing.T) {
	tool := bound[everyType]()
	got, err := tool.Decode(json.RawMessage(`{"text":"a","optional":"x","number":-5,"unsigned":1e3,"flag":false,"list":[],
		"map":{"A":"b"},"object":{"shown":"s","hidden":2},"pointer":{"hidden":0},"objects":[{"name":"n"},{"data":""}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	want := &everyType{
		everyEmbedded: everyEmbedded{"a"}, Optional: new("x"), Number: -5, Unsigned: 1000, Flag: new(false), List: &[]string{},
		Map: map[string]string{"A": "b"}, Object: everyObject{"s", 2}, Pointer: &everyObject{}, Objects: []everyItem{{Name: "n"}, {Data: new("")}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decode = %+v, want %+v", got, want)
	}
	got, err = tool.Decode(json.RawMessage(`{"text":"b"}`), "")
	if want := (&everyType{everyEmbedded: everyEmbedded{"b"}, Number: 7, Unsigned: 3}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("decode of the least = %+v, %v, want %+v", got, err, want)
	}
}

func TestDeclareDescribes(t *testing.T) {
	got, want := string(bound[everyType]().InputSchema()), `{"type":"object","properties":{`+
		`"text":{"type":"string","enum":["a","b"]},"optional":{"type":"string"},`+
		`"number":{"type":"integer","description":"how many; default 7"},"unsigned":{"type":"integer","description":"default 3"},`+
		`"flag":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}},"map":{"type":"object"},`+
		`"object":{"type":"object","properties":{"shown":{"type":"string"},"hidden":{"type":"integer"}}},`+
		`"pointer":{"type":"object","properties":{"shown":{"type":"string"},"hidden":{"type":"integer"}}},"objects":{"type":"array","items":{"type":"object",`+
		`"properties":{"name":{"type":"string"},"data":{"type":"string"}}}}},"required":["text"]}`
	if got != want {
		t.Errorf("schema = %s, want %s", got, want)
	}
}

// A list of objects is read in every form that can mean one alone, and an error names the object.
// Arguments with a mark can be left out, at every depth, and are refused with the reason then.
func TestWithout(t *testing.T) {
	type item struct {
		Name   string `json:"name"`
		Secret string `json:"secret" is:"filled secrets"`
	}
	type args struct {
		Secret string `json:"secret" is:"secrets"`
		Items  []item `json:"items" max:"9"`
	}
	all := bound[args]()
	tool := all.Without(OfSecrets, "there are none")
	for _, call := range []string{`{"secret":"x"}`, `{"items":[{"name":"a"},{"secret":"x"}]}`} {
		if _, err := all.Decode(json.RawMessage(call), ""); err != nil {
			t.Errorf("%s is refused by the whole table: %v", call, err)
		}
		_, err := tool.Decode(json.RawMessage(call), "")
		if err == nil || !strings.Contains(err.Error(), "is not taken here: there are none") {
			t.Errorf("%s: %v; want the reason", call, err)
		}
	}
	if _, err := tool.Decode(json.RawMessage(`{"items":[{"name":"a"}]}`), ""); err != nil {
		t.Errorf("an argument without the mark is refused: %v", err)
	}
	if len(all.Absent) > 0 || !all.Takes("secret") {
		t.Errorf("the whole table was changed: %v", all.Absent)
	}
}

func TestObjects(t *testing.T) {
	tool := bound[everyType]()
	two := []everyItem{{Name: "a"}, {Name: "b", Data: new("x")}}
	for given, want := range map[string][]everyItem{
		`[{"name":"a"},{"name":"b","data":"x"}]`:               two,
		`"[{\"name\":\"a\"},{\"name\":\"b\",\"data\":\"x\"}]"`: two,
		`["{\"name\":\"a\"}",{"name":"b","data":"x"}]`:         two,
		`[{"name":"a","data":null},{"name":"b","data":"x"}]`:   two,
		`{"name":"a"}`: two[:1],
		`[]`:           nil,
		`null`:         nil,
		`""`:           nil,
	} {
		got, err := tool.Decode(json.RawMessage(`{"text":"a","objects":`+given+`}`), "")
		if err != nil || !reflect.DeepEqual(got.(*everyType).Objects, want) {
			t.Errorf("objects %s are read as %+v, %v, want %+v", given, got, err, want)
		}
	}
	for given, want := range map[string]string{
		`[{"name":"a"},{"nam":"b"}]`:    `unknown field "objects[1].nam"`,
		`[{"name":"a"},{"name":7.5}]`:   "objects[1].name must be a string",
		`[{"name":"a"},"b"]`:            "objects[1] must be an object, not a string",
		`[{"name":"a","name":"b"}]`:     "objects[0].name is given twice",
		`[{},{},{}]`:                    "objects has 3 objects; it may have at most 2",
		`7`:                             "objects must be an array of objects, not a number",
		`[{"name":"a"},{"action":"b"}]`: `unknown field "objects[1].action"`,
	} {
		if _, err := tool.Decode(json.RawMessage(`{"text":"a","objects":`+given+`}`), ""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("objects %s are answered with %v, want %q in it", given, err, want)
		}
	}
}

// Declare refuses a wrong declaration at once, before the program does anything.
func TestDeclareRefuses(t *testing.T) {
	for want, bind := range map[string]func() *Tool{
		"no name on the wire": bound[struct{ A string }],
		"float64": bound[struct {
			A float64 `json:"a"`
		}],
		"use int64": bound[struct {
			A int `json:"a" max:"1<<40"`
		}],
		"a list of objects needs max": bound[struct {
			A []everyItem `json:"a"`
		}],
		"min is no integer": bound[struct {
			A int `json:"a" min:"x"`
		}],
		"default": bound[struct {
			A string `json:"a" default:"x"`
		}],
		"may be null": func() *Tool {
			return Declare[struct{}](Tool{Actions: []Action{{}}},
				struct {
					A *int `json:"a" is:"listed"`
				}{})
		},
		"to follow b": func() *Tool {
			return Declare[struct{}](Tool{Actions: []Action{{}}},
				struct {
					A string `json:"a" is:"listed" after:"b"`
				}{})
		},
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, want) {
					t.Errorf("Declare panics with %q, want %q in it", said, want)
				}
			}()
			bind()
		}()
	}
}
