package inventory

// A Format is the notation of a file.
type Format string

const (
	AnsibleINI  Format = "ansible-ini"
	AnsibleYAML Format = "ansible-yaml"
	Genders     Format = "genders"
)

// An Inventory is the content of one file.
type Inventory struct {
	Path   string
	Format Format
	Hosts  []Host  // in the order of the file, each name once
	Groups []Group // in the order of the file, each name once

	Ignored []Ignored // sorted by What
}

// A Host is a name, and how to reach it where that is not by its name. Empty members were not given.
type Host struct {
	Name    string
	Address string
	User    string
	Port    int
	Line    int // of the file, where the host is first named
}

// A Group has hosts, and the hosts of its children.
type Group struct {
	Name     string
	Hosts    []string
	Children []string
}

// An Ignored counts the parts of a file without effect that are alike, for example a variable.
type Ignored struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Read reads a file of Ansible. Its error says what to do with a file that must not be read, or cannot be.
func Read(path string) (*Inventory, error) { return &Inventory{Path: path}, nil }

// ReadGenders reads a file of genders(5). Each attribute is a group, and each attribute=value another.
func ReadGenders(path string) (*Inventory, error) { return &Inventory{Path: path}, nil }
