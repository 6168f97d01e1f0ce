"""What is made of the lessons: the reading site, slides, lessons in a browser."""
