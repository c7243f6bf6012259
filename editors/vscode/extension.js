// Starts the language server of vlang, `vlang lsp`, for .vp files. Colours need no server and no code.
const { window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function () {
  const command = workspace.getConfiguration("vlang").get("command");
  client = new LanguageClient(
    "vlang",
    "vlang",
    { command, args: ["lsp"] },
    { documentSelector: [{ language: "vp" }] },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `vlang: "${command} lsp" does not start (${error.message}). Install it by: pip install 'vlang[lsp]', or name the ` +
        "command in the setting vlang.command.",
    );
  }
};

exports.deactivate = () => client?.stop();
