export { default, Archives } from "terrace-registry";
