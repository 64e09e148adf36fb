# The man page of a trainer, from its own --help.
# cmake -DPROGRAM=path -DNAME=train_mnist -DVERSION=0.1.0 -DPAGE=train_mnist.1 -P trainer_page.cmake
execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\\\" text "\n${text}")
string(REPLACE "-" "\\-" text "${text}")
string(REGEX MATCH "^\n([^\n]+)\nUsage[^\n]*\n" head "${text}")
set(summary "${CMAKE_MATCH_1}")
string(REPLACE "${head}" "" text "${text}")
string(REGEX REPLACE "\n  (.-[^ ]+) ?([^ \n]*)  +([^\n]+)" "\n.TP\n.BI \\1 \" \\2\"\n\\3" text "${text}")
string(REGEX REPLACE "\n([A-Z][^\n]*):\n" "\n.SS \\1\n" text "\n${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
string(TOUPPER ${NAME} title)
file(WRITE ${PAGE} ".TH ${title} 1 \"\" \"Ronde ${VERSION}\" \"Ronde\"
.SH NAME
${NAME} \\- train a net on one process or many
.SH SYNOPSIS
.B ${NAME}
[\\fIOPTION\\fR]...
.br
.B mpirun \\-np
.I N
.B ${NAME}
[\\fIOPTION\\fR]...
.SH DESCRIPTION
${summary}
.SH OPTIONS
A flag beats RONDE_* in the environment (RONDE_EPOCHS=3), which beats \\-\\-config FILE, which beats the recipe.
${text}.SH EXIT STATUS
0 done; 1 failure at run time; 2 wrong usage; 65 an input file that is damaged, or of another net; 74 reading or writing failed; 75 saved after a signal, run it again; 86 a rank hung; 87 the ranks' weights are no longer equal; 88 the loss is not a finite number; 130 interrupted.
.SH EARLIER RUNS
A new run, and one that \\-\\-resume FILE takes from another \\-\\-dir, may use the \\-\\-dir of an earlier run. At its first step it writes .new\\-run there, and \\-\\-resume auto passes over the checkpoints that this file names, until they are replaced. Damaged ones are renamed to NAME.damaged then. A command that is refused leaves all as it was.
.SH SIGNALS
USR1: save, as on\\-signal.h5, and go on. USR2 and TERM: save, and end with status 75; \\-\\-resume auto goes on from there, bit for bit. Send them to one rank, to mpirun (which passes on USR1 and USR2 at once, but TERM only one second before it kills the ranks, and then exits with 1), or to ronde run. Ctrl-C makes a program that runs alone save too, and end with status 130; again, or when it is not training, it ends at once. Under mpirun it is what TERM is.
.SH SEE ALSO
.BR ronde (1),
.BR mpirun (1)
")
