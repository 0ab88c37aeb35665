"""From a kernel to the public function: conversion of arguments, `out=`, ufuncs, results."""
