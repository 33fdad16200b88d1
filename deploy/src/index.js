export { default } from "terrace-registry";
