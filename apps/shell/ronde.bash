# bash completion of ronde, train_mnist and train_cifar10. It reads their --help, so it knows what they know.

# The options in a help text on stdin.
__ronde_options() {
  sed -nE 's/^ +(-[a-z],)?(--[a-z-]+).*/\2/p'
}

# The words of "a|b|c" in the line of a help text on stdin that begins with $1.
__ronde_values() {
  sed -nE "s/^ +(-[a-z],)?$1( [A-Za-z|.]+)? +//p" | grep -oE '[^ ,;:|]+(\|[^ ,;:|]+)+' | head -n 1 | tr '|' '\n' |
    grep -E '^[a-z0-9_.-]+$'
}

# The sub-commands in a help text on stdin.
__ronde_commands() {
  sed -nE '/^Commands:/,/^[^ ]/s/^  ([a-z]+) .*/\1/p'
}

__ronde_complete() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words=() word help commands i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    help=$("$program" "${words[@]}" --help 2>/dev/null)
    grep -qxF -- "$word" <<<"$(__ronde_commands <<<"$help")" || break
    words+=("$word")
  done
  help=$("$program" "${words[@]}" --help 2>/dev/null)
  commands=$(__ronde_commands <<<"$help")
  COMPREPLY=()
  if [[ $before == --* && $(__ronde_options <<<"$help") == *"$before"* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(__ronde_values "$before" <<<"$help")" -- "$current")
    [[ ${#COMPREPLY[@]} -gt 0 ]] && return
  fi
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(__ronde_options <<<"$help")" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  elif [[ ${words[*]} == "data get" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(__ronde_values NAME <<<"$help")" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}

complete -F __ronde_complete ronde train_mnist train_cifar10
