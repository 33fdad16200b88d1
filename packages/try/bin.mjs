#!/usr/bin/env node
import "terrace-registry/start";
