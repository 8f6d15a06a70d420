"""Scikit-learn's conventions; tables predicted under budgets; data frames."""
