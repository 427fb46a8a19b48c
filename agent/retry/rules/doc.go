// Package rules reads the rules of --restart-policy and applies them to the end of an attempt.
//
// It is pure. [List] reads rules from JSON, [Compile] checks them, and [Set.Choose] returns the
// action of the first rule that matches. It is not part of package retry because the small binary
// links that one, and has no regular expressions.
//
// It promises:
//
//   - A rule matches if all of its conditions do, and a list matches if one of its
//     entries does. A rule without conditions matches every end.
//   - A condition that is unknown, such as the output of a process whose output does
//     not pass through Muster, does not match.
//   - The processes of a drained worker end because of the drain. So a rule with
//     conditions matches such an end only if one of its causes is drain.
package rules
