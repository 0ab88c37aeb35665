"""How contributions show themselves: as text, as tables in HTML, and as plots.

What is drawn is made of plain numbers (`parts`); what they are of, an array, a tensor or an attribution, says them
(`methods`). matplotlib and SHAP are imported by the call that needs them.
"""
