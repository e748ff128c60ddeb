package elicit

import (
	"html/template"
	"strings"
	"testing"
)

// pageTemplate is the page as html/template makes it, which knows how to escape text in every place.
var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ptyctl</title>
<style>body{font-family:sans-serif;max-width:40em;margin:3em auto;padding:0 1em}pre{white-space:pre-wrap;border-left:3px solid #999;padding-left:1em}</style>
</head><body><h1>{{.Heading}}</h1>
{{if .Form}}<p>{{if .Secret}}It is for:{{else}}The host asks, in its own words:{{end}}</p><pre>{{.Text}}</pre>
<form method="post" autocomplete="off"><input type="hidden" name="form" value="{{.Form}}">
<p><input name="answer" type="password" autocomplete="off" autofocus aria-label="answer"></p>
<p><button>Answer</button> <button name="decline" value="1">{{if .Secret}}Refuse{{else}}Cancel the login{{end}}</button></p></form>
<p>What you type goes to that host, and to nobody else.</p>{{else}}<p>{{.Text}}</p>{{end}}
</body></html>
`))

// TestPageEscapes compares pages with the output of html/template, for texts that would be markup.
func TestPageEscapes(t *testing.T) {
	hostile := []string{"", "Password:", `<script>alert("1")</script>`, `"><img src=x onerror='x'>`, "a & b &amp; c\n</pre>", "ü 日本 \xff"}
	for _, text := range hostile {
		for _, d := range []pageData{
			{Heading: text, Text: text},
			{Heading: text, Text: text, Form: text},
			{Heading: text, Text: text, Form: text, Secret: text},
			{Heading: "web1", Text: text, Form: "XYZ", Secret: "db"},
		} {
			var want strings.Builder
			if err := pageTemplate.Execute(&want, d); err != nil {
				t.Fatal(err)
			}
			if got := d.html(); got != strings.ReplaceAll(want.String(), "&#43;", "+") {
				t.Errorf("the page of %+v is\n%s\nwant\n%s", d, got, want.String())
			}
		}
	}
}
