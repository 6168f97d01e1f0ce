"""The one palette. Figures, still pictures and the style sheets of the widgets take their colors from here."""

# What is drawn: blue what we look at, orange what it is compared with, teal a third, grey context, red only for wrong.
PALETTE = {"blue": "#0077BB", "orange": "#EE7733", "teal": "#009988", "grey": "#555555", "red": "#CC3311"}
# The same colors for words on a light page, dark enough to be read.
WORDS = {"blue": "#0069A5", "orange": "#A84A0C", "teal": "#00695E", "grey": "#555555", "red": "#B92D0F"}
