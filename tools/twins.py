"""The old name of :mod:`tools.sources`, until the browser tests import the new one."""

from tools.sources import ROOT as ROOT
