package config

// HostGroup is a group of hosts by name; package fleet/nodes defines the meaning.
type HostGroup struct {
	Entry
	Hosts string // an expression
}

// groupTable declares [groups.NAME], and NAME = "HOSTS" in [groups].
func groupTable(c *Config) kind {
	return named(&c.Groups, "groups",
		"A group of hosts by name, for @NAME in an expression of hosts. Its short form is NAME = \"HOSTS\" in the table "+
			"[groups].",
		func(g *HostGroup) []row {
			return []row{
				text(&g.Hosts, "hosts", "", "The hosts: names, ranges and other groups, as docs/fleet.md says.").
					required(`hosts such as "web[01-20],@db"`, `"web[01-20].example.net,lb[1-2]"`),
			}
		}).short("hosts")
}
