"""What the API of quotes and runs takes (`requests`) and answers (`shapes`, and `results` for frozen results)."""
