"""Feature-budgeted boosting: the mathematics of Askless, without any input or output.

Values go in, values come out. Files, clock, environment, web and database belong to
`app`; what users import is `askless`.
"""
