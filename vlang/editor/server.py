"""The language server (`vlang lsp`): pygls calls the functions of `service` for requests of the protocol."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from vlang import __version__
from vlang.check import Problem
from vlang.editor.names import Named, named, outline, rename, signature, tokens
from vlang.editor.positions import Places
from vlang.editor.service import Completion, completions, fix, hover, problems_in
from vlang.errors import BindError, ProgramError
from vlang.syntax.layout.format import format_text
from vlang.syntax.tree import Span

__all__ = ["build_server"]

_KINDS = {
    "field": lsp.CompletionItemKind.Field, "edge": lsp.CompletionItemKind.Field,
    "parameter": lsp.CompletionItemKind.Variable, "global": lsp.CompletionItemKind.Variable,
    "let": lsp.CompletionItemKind.Variable, "accumulator": lsp.CompletionItemKind.Variable,
    "loop": lsp.CompletionItemKind.Variable, "neighbour": lsp.CompletionItemKind.Variable,
    "function": lsp.CompletionItemKind.Function, "reduction": lsp.CompletionItemKind.Function,
    "built-in function": lsp.CompletionItemKind.Function, "built-in reduction": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.Class, "word": lsp.CompletionItemKind.Keyword,
}


_OUTLINE = {
    "field": lsp.SymbolKind.Field, "edge": lsp.SymbolKind.Property, "global": lsp.SymbolKind.Variable,
    "parameter": lsp.SymbolKind.Constant, "function": lsp.SymbolKind.Function, "reduction": lsp.SymbolKind.Function,
}
_TOKENS = {
    "field": "property", "edge": "property", "parameter": "parameter", "argument": "parameter", "function": "function",
    "reduction": "function",
}
_LEGEND = lsp.SemanticTokensLegend(["variable", "property", "parameter", "function"], ["declaration", "defaultLibrary"])


def build_server() -> LanguageServer:
    """A language server; call its `start_io()` to run it."""
    # Editors send whole texts instead of edits: programs are short, and the two copies cannot diverge.
    server = LanguageServer("vlang", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))(_complete)
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION,
                   lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))(_actions)
    server.feature(lsp.TEXT_DOCUMENT_FORMATTING)(_formatted)
    server.feature(lsp.TEXT_DOCUMENT_DEFINITION)(_definition)
    server.feature(lsp.TEXT_DOCUMENT_REFERENCES)(_references)
    server.feature(lsp.TEXT_DOCUMENT_RENAME)(_renamed)
    server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(_outline)
    server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
                   lsp.SignatureHelpOptions(trigger_characters=["(", ","]))(_signature)
    server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)(_tokens)
    return server


class _Document:
    """An open document. The methods return types of the protocol."""

    def __init__(self, server: LanguageServer, uri: str) -> None:
        document: TextDocument = server.workspace.get_text_document(uri)
        encoding = server.workspace.position_encoding or lsp.PositionEncodingKind.Utf16
        self.uri, self.version, self.text = uri, document.version, document.source
        self.places = Places(self.text, lsp.PositionEncodingKind(encoding).value)

    def offset(self, position: lsp.Position) -> int:
        return self.places.offset(position.line, position.character)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(lsp.Position(*self.places.place(start)), lsp.Position(*self.places.place(end)))

    def range_of(self, span: Span) -> lsp.Range:
        return self.range(span.start, span.end)

    def diagnostic(self, problem: Problem) -> lsp.Diagnostic:
        """Convert a problem to a diagnostic of the protocol. The message has all texts that `vlang check` shows."""
        said = [problem.title, problem.label, *(f"help: {line}" for line in problem.help),
                *(f"write: {line}" for line in problem.write)]
        return lsp.Diagnostic(
            range=self.range_of(problem.span), message="\n".join(line for line in said if line), code=problem.code,
            source="vlang", code_description=lsp.CodeDescription(problem.code.page.as_uri()),
            severity=lsp.DiagnosticSeverity.Error if problem.severity == "error" else lsp.DiagnosticSeverity.Warning,
            related_information=[
                lsp.DiagnosticRelatedInformation(lsp.Location(self.uri, self.range_of(span)), label)
                for span, label in problem.notes
            ],
        )


# pygls passes the server as the parameter named `ls`.


def _opened(ls: LanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
    _publish(ls, params.text_document.uri)


def _changed(ls: LanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
    _publish(ls, params.text_document.uri)


def _closed(ls: LanguageServer, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))


def _publish(ls: LanguageServer, uri: str) -> None:
    document = _Document(ls, uri)
    found = [document.diagnostic(problem) for problem in problems_in(document.text)]
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))


def _hover(ls: LanguageServer, params: lsp.HoverParams) -> lsp.Hover | None:
    document = _Document(ls, params.text_document.uri)
    found = hover(document.text, document.offset(params.position))
    if found is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), document.range_of(found.span))


def _complete(ls: LanguageServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    document = _Document(ls, params.text_document.uri)
    return [_item(i, item) for i, item in enumerate(completions(document.text, document.offset(params.position)))]


def _actions(ls: LanguageServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The quick fixes for the diagnostics in a range of the text."""
    document = _Document(ls, params.text_document.uri)
    first, last = document.offset(params.range.start), document.offset(params.range.end)
    found = []
    for problem in problems_in(document.text):
        edit = fix(document.text, problem) if problem.span.start <= last and problem.span.end >= first else None
        if edit is not None:
            change = lsp.TextEdit(document.range(edit.start, edit.end), edit.text)
            more = " ..." if len(problem.write) > 1 else ""
            found.append(lsp.CodeAction(
                f"write: {problem.write[0]}{more}", lsp.CodeActionKind.QuickFix, [document.diagnostic(problem)],
                edit=lsp.WorkspaceEdit(changes={document.uri: [change]})))
    return found


def _formatted(ls: LanguageServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    document = _Document(ls, params.text_document.uri)
    try:
        text = format_text(document.text)
    except ProgramError:
        return []
    return [] if text == document.text else [lsp.TextEdit(document.range(0, len(document.text)), text)]


def _named(document: _Document, position: lsp.Position) -> Named | None:
    return named(document.text, document.offset(position))


def _definition(ls: LanguageServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    document = _Document(ls, params.text_document.uri)
    found = _named(document, params.position)
    if found is None or found.declaration is None:
        return None
    return lsp.Location(document.uri, document.range_of(found.declaration))


def _references(ls: LanguageServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    document = _Document(ls, params.text_document.uri)
    found = _named(document, params.position)
    places = () if found is None else found.places
    return [lsp.Location(document.uri, document.range_of(span)) for span in places
            if params.context.include_declaration or found is None or span != found.declaration]


def _renamed(ls: LanguageServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    document = _Document(ls, params.text_document.uri)
    try:
        edits = rename(document.text, document.offset(params.position), params.new_name)
    except BindError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return lsp.WorkspaceEdit({document.uri: [lsp.TextEdit(document.range(edit.start, edit.end), edit.text)
                                             for edit in edits]})


def _outline(ls: LanguageServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = _Document(ls, params.text_document.uri)
    found = []
    for one in outline(document.text):
        assert one.declaration is not None
        place = document.range_of(one.declaration)
        found.append(lsp.DocumentSymbol(one.symbol.name, _OUTLINE.get(one.symbol.kind, lsp.SymbolKind.Variable), place,
                                        place, detail=str(one.symbol.type or "")))
    return found


def _signature(ls: LanguageServer, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    document = _Document(ls, params.text_document.uri)
    found = signature(document.text, document.offset(params.position))
    if found is None:
        return None
    parameters = [lsp.ParameterInformation(text) for text in found.parameters]
    shown = lsp.SignatureInformation(found.label, found.help or None, parameters, found.active)
    return lsp.SignatureHelp([shown], 0, found.active)


def _tokens(ls: LanguageServer, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """Return the semantic tokens of a document, which are the kinds of all names.

    Each token consists of five numbers. The place of a token is relative to the previous token.
    """
    document = _Document(ls, params.text_document.uri)
    data: list[int] = []
    line = column = 0
    for span, symbol, declared in tokens(document.text):
        (at, start), (_, end) = document.places.place(span.start), document.places.place(span.end)
        kind = _LEGEND.token_types.index(_TOKENS.get(symbol.kind, "variable"))
        data += [at - line, start - column if at == line else start, end - start, kind,
                 declared + 2 * (symbol.decl is None)]
        line, column = at, start
    return lsp.SemanticTokens(data)


def _item(number: int, item: Completion) -> lsp.CompletionItem:
    documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, item.help) if item.help else None
    return lsp.CompletionItem(item.label, kind=_KINDS[item.kind], detail=item.detail or None,
                              documentation=documentation, sort_text=f"{number:04}")
