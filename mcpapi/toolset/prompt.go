package toolset

import "strings"

// A Prompt is a text that a person picks in the client, for work that takes more than one call (MCP, prompts).
type Prompt struct {
	Name, Title, About string
	Arguments          []PromptArgument
	Text               string // for the model; {name} is replaced by an argument's value
}

// A PromptArgument is an argument that a person gives with a Prompt.
type PromptArgument struct{ Name, About string }

// Fill returns the text with the arguments' values. The model asks for one that is not given.
func (p *Prompt) Fill(given map[string]string) string {
	var pairs []string
	for _, a := range p.Arguments {
		value := strings.TrimSpace(given[a.Name])
		if value == "" {
			value = "(ask me)"
		}
		pairs = append(pairs, "{"+a.Name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(p.Text)
}
