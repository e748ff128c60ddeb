package profile

// Volatile is the text that Steady puts where a configuration changes by itself.
const Volatile = "<volatile>"

// Steady returns a configuration in which what changes by itself is replaced by Volatile, so that two of them differ
// only in changes by people, and the number of the replacements. Of a pattern with a group, the group is
// replaced, otherwise all that it matches.
func Steady(config string, volatile []Pattern) (steady string, replaced int) {
	for _, v := range volatile {
		var out []byte
		kept := 0
		for _, at := range v.Regex.FindAllStringSubmatchIndex(config, -1) {
			from, to := at[0], at[1]
			if len(at) > 2 && at[2] >= 0 {
				from, to = at[2], at[3]
			}
			out = append(append(out, config[kept:from]...), Volatile...)
			kept, replaced = to, replaced+1
		}
		if kept > 0 {
			config = string(append(out, config[kept:]...))
		}
	}
	return config, replaced
}
