// terraform-provider-hello: the program that Terraform starts when a configuration uses the provider.

import { serve } from "./plugin.mjs";
import { provider } from "./provider.mjs";

serve(provider);
