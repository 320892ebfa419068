# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for prism(1): the program itself says what could come.
function __prism_complete
    set -l words (commandline -opc) (commandline -ct)
    # Of --option=value only the value is completed, and the option stays in front of it.
    set -l option (string match -r -- '^--[^=]*=' $words[-1]; or echo)
    set -l value (string replace -r -- '^--[^=]*=' '' $words[-1])
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                for path in (__fish_complete_path $value)
                    echo $option$path
                end
            case :folders
                for path in (__fish_complete_directories $value)
                    echo $option$path
                end
            case :commands
                __fish_complete_command
            case '*'
                echo $option$line
        end
    end
end
complete -c prism -f -a '(__prism_complete)'
