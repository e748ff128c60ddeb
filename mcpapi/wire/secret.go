package wire

import "ptyctl/term"

// SecretEntry is one of the operator's secrets in a list: its name and where it may be used, never a value.
type SecretEntry struct {
	Name     string           `json:"name"`
	Hint     string           `json:"hint,omitempty"`
	Uses     []term.SecretUse `json:"uses,omitempty"`    // none: all
	Hosts    []string         `json:"hosts,omitempty"`   // patterns of names that the operator's ssh_config has
	Devices  []string         `json:"devices,omitempty"` // patterns of serial lines
	Local    bool             `json:"local,omitempty"`   // programs on ptyctl's machine
	Users    []string         `json:"users,omitempty"`   // patterns of accounts; none: all
	Prompts  []string         `json:"prompts,omitempty"` // of questions; none: those for a password, or a code
	Commands []string         `json:"commands,omitempty"`
	Auto     bool             `json:"auto,omitempty"`   // logins are answered without being asked to
	Code     bool             `json:"code,omitempty"`   // one-time codes
	Person   bool             `json:"person,omitempty"` // a person gives it, or agrees
}

// Secrets returns the list of the secrets.
func Secrets(of []term.SecretInfo) *[]SecretEntry {
	list := make([]SecretEntry, len(of))
	for i, s := range of {
		list[i] = SecretEntry{
			Name: s.Name, Hint: s.Hint, Uses: s.Uses, Hosts: s.Hosts, Devices: s.Devices, Local: s.Local, Users: s.Users,
			Prompts: s.Prompts, Commands: s.Commands, Auto: s.Auto, Code: s.OneTime, Person: s.Person,
		}
	}
	return &list
}
